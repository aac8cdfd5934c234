"""Records of the log in which Kafka keeps its metadata, a module each."""
