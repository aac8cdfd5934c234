"""Figures of the partitions that this node leads, and of those that are in trouble."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from mainstem.admin.metrics.exposition import Family, Sample, gauge
from mainstem.admin.node import Node
from mainstem.core.partition import Partition

_Labelled = list[tuple[str, Partition]]

# Name, kind, help, how it is read: a family with a sample for each partition.
_FIGURES: Final[tuple[tuple[str, str, str, Callable[[Partition], int]], ...]] = (
    ("log_start_offset", "gauge", "First offset that can be read.", lambda p: p.log.log_start_offset),
    ("log_end_offset", "gauge", "Next offset to be given out.", lambda p: p.log.log_end_offset),
    ("high_watermark", "gauge", "Offset below which all is committed.", lambda p: p.high_watermark),
    (
        "last_stable_offset",
        "gauge",
        "Offset below which every transaction has ended.",
        lambda p: p.last_stable_offset,
    ),
    ("open_transactions", "gauge", "Transactions that are open here.", lambda p: p.open_transaction_count),
    ("log_size_bytes", "gauge", "Bytes in segments.", lambda p: p.log.size_bytes),
    ("log_segments", "gauge", "Segments of the log.", lambda p: len(p.log.segments)),
    ("messages_in_total", "counter", "Records appended.", lambda p: p.messages_in),
    ("bytes_in_total", "counter", "Bytes appended.", lambda p: p.bytes_in),
    ("bytes_out_total", "counter", "Bytes given to consumers.", lambda p: p.bytes_out),
)


def families(node: Node) -> Iterable[Family]:
    yield from _health(node)
    yield gauge(
        "open_transaction_idle_seconds",
        "How long the producer of some partition's oldest open transaction has not written; 0 without one.",
        _longest_idle_ms(node) / 1000,
    )
    led: _Labelled = []
    each: Iterator[tuple[str, Partition]] = _label(node, led)
    for name, kind, text, read in _FIGURES:
        yield Family(name, kind, text, _samples(each, read))
        each = iter(led)


def _longest_idle_ms(node: Node) -> int:
    now_ms = node.broker.clock.now_ms()
    found = [partition.oldest_transaction_ms for partition in node.broker.replicas.partitions.values()]
    return max((now_ms - written_ms for written_ms in found if written_ms is not None), default=0)


def _label(node: Node, led: _Labelled) -> Iterator[tuple[str, Partition]]:
    """Gives each partition with its labels, and notes both in `led` for the families that follow."""
    for (topic, index), partition in list(node.broker.replicas.partitions.items()):
        labelled = (f'{{topic="{topic}",partition="{index}"}}', partition)  # a topic's name needs no escapes
        led.append(labelled)
        yield labelled


def _samples(each: Iterator[tuple[str, Partition]], read: Callable[[Partition], int]) -> Iterator[Sample]:
    return (Sample(label_text, read(partition)) for label_text, partition in each)


def _health(node: Node) -> Iterator[Family]:
    image = node.broker.image
    partition_count = leaderless = under_replicated = 0
    for topic in image.topics.values():
        partition_count += len(topic.partitions)
        for state in topic.partitions:
            leaderless += state.leader < 0
            under_replicated += len(state.isr) < len(state.replicas)
    yield gauge("topics", "Topics of the cluster.", len(image.topics))
    yield gauge("partitions", "Partitions of the cluster.", partition_count)
    yield gauge("partitions_led", "Partitions that this node leads.", len(node.broker.replicas.partitions))
    yield gauge(
        "partitions_offline",
        "Partitions without a leader, and those of this node whose log directory failed.",
        leaderless + len(node.broker.replicas.failed),
    )
    yield gauge(
        "partitions_under_replicated",
        "Partitions with fewer in-sync replicas than replicas.",
        under_replicated,
    )
