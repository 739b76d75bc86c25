"""The git mirror: what onepen has committed, committed to git as well, by the person's own wish."""
