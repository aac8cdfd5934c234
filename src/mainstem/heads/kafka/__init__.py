"""The Kafka protocol head."""
