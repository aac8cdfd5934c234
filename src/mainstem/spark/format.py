"""`format("mainstem")`: what Spark builds a read or a write from.

Spark pickles this class by its name, so its workers need the package as well as the driver does.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from mainstem.spark.arrow import source_schema
from mainstem.spark.options import check_either, source_options
from mainstem.spark.source import BatchReader, check_schema
from mainstem.spark.stream import StreamReader


class MainstemFormat(DataSource):
    options: MutableMapping[str, str]

    @classmethod
    def name(cls) -> str:
        return "mainstem"

    def schema(self) -> StructType:
        """Called before Spark says whether it reads a batch or a stream; errors are told this early."""
        return source_schema(check_either(self.options).with_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        options = source_options(self.options, is_streaming=False)
        check_schema(schema, options.with_headers)
        return BatchReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        options = source_options(self.options, is_streaming=True)
        check_schema(schema, options.with_headers)
        return StreamReader(options)
