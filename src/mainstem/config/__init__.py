"""Every option of the broker and of a topic, declared once."""
