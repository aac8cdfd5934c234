"""Who asks, and what they may do: shared by all heads."""
