"""Mainstem: one durable log that Kafka, RocketMQ and RabbitMQ clients connect to unchanged."""

__version__ = "0.1.0"
