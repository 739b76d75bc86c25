"""The command line: a static table of commands, what they print, and how they end."""
