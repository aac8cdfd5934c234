"""Codecs derived from the protocols' own schemas; pure functions, no I/O."""
