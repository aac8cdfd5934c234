"""How much clients may take: limits, what was used of them, and how long who is over one has to wait."""
