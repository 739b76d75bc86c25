"""A question in, the lines that answer it out."""
