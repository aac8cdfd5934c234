"""Figures of the Kafka head and of the connections below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mainstem.admin.metrics.exposition import Family, Sample, counter, gauge, histogram, labels
from mainstem.admin.node import Node
from mainstem.heads.kafka.meters import ApiMeter
from mainstem.wire.kafka.apis import APIS

# The head counts in powers of two of a nanosecond; those that nothing real is in are told together.
_FIRST_BUCKET: Final = 13  # below 8 microseconds
_LAST_BUCKET: Final = 35  # below 34 seconds
_BOUNDS_S: Final = tuple((1 << exponent) / 1e9 for exponent in range(_FIRST_BUCKET, _LAST_BUCKET + 1))


def families(node: Node) -> Iterable[Family]:
    yield from _connections(node)
    meters = node.head_meters
    by_api = [(labels(api=APIS[key].name), meter) for key, meter in sorted(meters.apis.items())]
    yield Family(
        "request_seconds",
        "histogram",
        "From the last byte of a request to its answer, waiting included, by API.",
        _latencies(by_api),
    )
    yield Family(
        "request_errors_total",
        "counter",
        "Requests that were answered with an error, by API.",
        [Sample(label_text, meter.errors) for label_text, meter in by_api],
    )
    yield counter(
        "bad_frames_total", "Connections closed because their bytes were no request.", meters.bad_frames
    )
    yield counter(
        "unexpected_errors_total",
        "Requests that failed by a defect of the broker; the log has each.",
        meters.unexpected_errors,
    )


def _latencies(by_api: list[tuple[str, ApiMeter]]) -> Iterator[Sample]:
    for label_text, meter in by_api:
        if not meter.count:
            continue
        buckets = meter.buckets
        counts = [
            sum(buckets[: _FIRST_BUCKET + 1]),
            *buckets[_FIRST_BUCKET + 1 : _LAST_BUCKET + 1],
            sum(buckets[_LAST_BUCKET + 1 :]),
        ]
        yield from histogram(_BOUNDS_S, counts, meter.total_ns / 1e9, label_text)


def _connections(node: Node) -> Iterator[Family]:
    meters = node.connections
    yield gauge("connections", "Open connections.", meters.connections_open)
    yield counter("connections_total", "Connections accepted.", meters.connections_total)
    yield counter("connections_refused_total", "Connections above a limit.", meters.connections_refused)
    yield counter(
        "connections_idle_closed_total", "Connections closed for silence.", meters.connections_idle_closed
    )
    yield counter("network_in_bytes_total", "Bytes received.", meters.bytes_in)
    yield counter("network_out_bytes_total", "Bytes sent.", meters.bytes_out)
    yield counter(
        "sendfile_bytes_total", "Of the bytes sent, those that never came into memory.", meters.sendfile_bytes
    )
    yield counter(
        "cold_reads_total", "Reads that were not in the page cache and went to a thread.", meters.cold_reads
    )
    memory = node.request_memory
    yield gauge("request_memory_bytes", "Memory that requests hold.", memory.held_bytes)
    yield gauge("request_memory_limit_bytes", "What they may hold before reading stops.", memory.limit)
