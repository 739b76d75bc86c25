"""Doubles that ship with onepen: a scripted model, a clock and ids that stand still, and workers that misbehave."""
