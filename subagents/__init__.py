"""Who does a task, in a process that ends: definitions, the wire, the worker, its loop and tools, and the pool."""
