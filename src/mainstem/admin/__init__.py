"""The admin port: metrics, health, REST resources."""
