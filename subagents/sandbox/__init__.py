"""What a worker may touch, and how the system holds it to that."""
