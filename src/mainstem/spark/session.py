"""A Spark session that can run: Java found, workers under this very Python, our format known."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import SparkSession

from mainstem.spark.java import find_java


def open_session(
    app_name: str = "mainstem",
    *,
    master: str | None = None,
    conf: Mapping[str, str] = MappingProxyType({}),
) -> SparkSession:
    """`master` None leaves the choice to spark-submit or to Spark's own configuration."""
    os.environ["JAVA_HOME"] = str(find_java())
    # Spark starts whatever `python3` is on its path otherwise, which may know nothing of us.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
    for name, value in conf.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
