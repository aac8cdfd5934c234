"""The broker itself, without any protocol: partitions, groups, and the facade that heads call."""
