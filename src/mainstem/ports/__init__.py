"""Ports to the outside world: clock and disk. Each file holds the protocol and the real adapter.

Simulations hand in their own; production code never calls `time` or `os` behind a port's back.
"""
