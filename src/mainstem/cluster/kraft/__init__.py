"""Kafka's own metadata, as its brokers keep them (KRaft): read once, when Mainstem takes a directory over."""
