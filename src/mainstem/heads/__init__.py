"""A head per protocol; none knows another."""
