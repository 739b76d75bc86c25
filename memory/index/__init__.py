"""What exists on a shelf, section by section; and keeping it true to the cards."""
