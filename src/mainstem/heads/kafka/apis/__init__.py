"""Cold APIs, a module each; see `heads/kafka/handler.py`."""
