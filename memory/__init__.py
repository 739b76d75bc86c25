"""What an agent may know: files, cards, indexes, day logs, layers, search; pure or read-only, and the pen."""
