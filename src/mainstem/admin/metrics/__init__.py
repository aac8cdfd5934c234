"""Figures for Prometheus: plain integers that others count, gathered and written when somebody asks."""
