"""How workers come to be and to their end: the fork server, the warden, and what a child is to us."""
