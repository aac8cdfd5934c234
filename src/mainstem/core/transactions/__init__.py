"""Transactions: their coordinator, and how their markers reach the partitions."""
