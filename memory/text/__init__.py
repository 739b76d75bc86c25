"""A card as text: what stands where, and edits that change one passage and no other byte."""
