"""Counters per API: plain integers that an exporter reads."""

from __future__ import annotations

from typing import Final

BUCKETS: Final = (
    40  # bucket i counts answers that took less than 2**i nanoseconds and not less than half of it
)


class ApiMeter:
    __slots__ = ("buckets", "count", "errors", "total_ns")

    def __init__(self) -> None:
        self.count = 0
        self.errors = 0  # of count: answered with an error for the whole request
        self.total_ns = 0
        self.buckets = [0] * BUCKETS

    def record(self, elapsed_ns: int) -> None:
        self.count += 1
        self.total_ns += elapsed_ns
        index = elapsed_ns.bit_length()
        self.buckets[index if index < BUCKETS else BUCKETS - 1] += 1


class HeadMeters:
    __slots__ = ("apis", "bad_frames", "fetched_bytes", "produced_bytes", "unexpected_errors")

    def __init__(self) -> None:
        self.apis: dict[int, ApiMeter] = {}  # by API key
        self.bad_frames = 0  # connections closed because their bytes were no request
        self.unexpected_errors = 0
        self.produced_bytes = 0
        self.fetched_bytes = 0
