"""Metadata behind one small port, the controller, the node's membership."""
