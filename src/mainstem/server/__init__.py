"""Listeners, connections and the loop: bytes between sockets and heads."""
