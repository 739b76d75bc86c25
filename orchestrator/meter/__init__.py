"""What each response of a model used: by layer of its prompt, with what missed the cache, and what to do about it."""
