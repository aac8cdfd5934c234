"""Consumer groups and the offsets that they commit."""
