"""How a change becomes memory: the pen, its lock, its redo log and its recovery."""
