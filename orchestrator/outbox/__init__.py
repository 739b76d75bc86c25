"""What waits to be asked by Message Batches, what is at servers, and what has come back: nothing is paid for twice."""
