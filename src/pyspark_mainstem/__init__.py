"""Spark looks for packages named pyspark_* and registers their `DefaultSource`."""

from mainstem.spark.format import MainstemFormat as DefaultSource

__all__ = ["DefaultSource"]
