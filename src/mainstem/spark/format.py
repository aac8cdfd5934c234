"""`format("mainstem")`: what Spark builds a read or a write from.

Spark pickles this class by its name, so its workers need the package as well as the driver does.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from mainstem.spark.arrow import source_schema
from mainstem.spark.arrow_rows import check_columns
from mainstem.spark.errors import InvalidOption
from mainstem.spark.options import check_either, source_options
from mainstem.spark.sink import BatchSink, StreamSink
from mainstem.spark.sink_options import SinkOptions, sink_options
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

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        if overwrite:
            raise InvalidOption("mode", "overwrite", "a topic is only ever added to", 'Say mode("append").')
        return BatchSink(self._sink_options(schema, is_streaming=False))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        if overwrite:
            raise InvalidOption(
                "outputMode", "complete", "a topic is only ever added to", 'Say outputMode("update").'
            )
        return StreamSink(self._sink_options(schema, is_streaming=True))

    def _sink_options(self, schema: StructType, *, is_streaming: bool) -> SinkOptions:
        options = sink_options(self.options, is_streaming=is_streaming)
        check_columns(schema, options.topic is not None)
        return options
