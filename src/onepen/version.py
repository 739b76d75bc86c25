"""The version, where every room can read it without reaching for the public list, which reaches for all rooms."""

__version__ = "0.1.0"
