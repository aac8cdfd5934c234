"""Log compaction: of each key only the newest record is kept. See cleaning.py for the whole of it."""
