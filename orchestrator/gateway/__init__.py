"""Model calls: what they may cost, when they are made, and what happens when one fails."""
