"""Kafka's messages: generated classes, the codec compiled from their field tables, and frames."""
