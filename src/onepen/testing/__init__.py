"""Doubles that ship with onepen, for tests of code that builds on it; each has tests of its own."""
