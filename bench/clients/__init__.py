"""Load generators, each a process of its own: `python -m bench.clients.<name> JOB`."""
