"""What each API asks for before it is carried out; see `table.py`."""
