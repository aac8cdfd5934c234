"""A small synchronous Kafka client on plain sockets, for the command line and for Spark."""
