"""The durable log: segments, indexes, recovery, retention, the journal and the log directories."""
