"""Figures of the partitions that this node leads, and of those that are in trouble."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mainstem.admin.metrics.exposition import Family, Sample, gauge, labels
from mainstem.admin.node import Node
from mainstem.core.partition import Partition

_Labelled = list[tuple[str, Partition]]


def families(node: Node) -> Iterable[Family]:
    yield from _health(node)
    led = [
        (labels(topic=topic, partition=index), partition)
        for (topic, index), partition in node.broker.replicas.partitions.items()
    ]

    def family(name: str, kind: str, text: str, read: Callable[[Partition], int]) -> Family:
        return Family(name, kind, text, _samples(led, read))

    yield family("log_start_offset", "gauge", "First offset that can be read.", _log_start)
    yield family("log_end_offset", "gauge", "Next offset to be given out.", _log_end)
    yield family(
        "high_watermark", "gauge", "Offset below which all is committed.", lambda p: p.high_watermark
    )
    yield family("log_size_bytes", "gauge", "Bytes in segments.", lambda p: p.log.size_bytes)
    yield family("log_segments", "gauge", "Segments of the log.", lambda p: len(p.log.segments))
    yield family("messages_in_total", "counter", "Records appended.", lambda p: p.messages_in)
    yield family("bytes_in_total", "counter", "Bytes appended.", lambda p: p.bytes_in)
    yield family("bytes_out_total", "counter", "Bytes given to consumers.", lambda p: p.bytes_out)


def _samples(led: _Labelled, read: Callable[[Partition], int]) -> Iterator[Sample]:
    return (Sample(label_text, read(partition)) for label_text, partition in led if partition.is_open)


def _log_start(partition: Partition) -> int:
    return partition.log.log_start_offset


def _log_end(partition: Partition) -> int:
    return partition.log.log_end_offset


def _health(node: Node) -> Iterator[Family]:
    image = node.broker.image
    states = [state for topic in image.topics.values() for state in topic.partitions]
    leaderless = sum(1 for state in states if state.leader < 0)
    under_replicated = sum(1 for state in states if len(state.isr) < len(state.replicas))
    yield gauge("topics", "Topics of the cluster.", len(image.topics))
    yield gauge("partitions", "Partitions of the cluster.", len(states))
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
