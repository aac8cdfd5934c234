"""The requests and responses, a module each."""
