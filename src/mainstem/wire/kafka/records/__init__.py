"""Records that brokers and clients keep in the log, a module each."""
