"""Figures of consumer groups: how many, in which state, and how far behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mainstem.admin.metrics.exposition import Family, Sample, by_label, counter, gauge, labels
from mainstem.admin.node import Node
from mainstem.core.groups.group import Group
from mainstem.core.groups.states import GroupState

MAX_LAGS: Final = 50_000  # series of one scrape; what is left out is counted

_STATES: Final = [state.value for state in GroupState if state is not GroupState.DEAD]
_SHARD_STATES: Final = ("active", "failed", "loading")


def families(node: Node) -> Iterable[Family]:
    groups = node.broker.groups.active_groups()
    in_state = Counter(group.state.value for group in groups)
    yield by_label(
        "gauge", "groups", "Groups by state.", "state", {state: in_state[state] for state in _STATES}
    )
    yield Family("group_members", "gauge", "Members of a group.", _members(groups))
    yield Family("group_offset", "gauge", "Committed offset of a group, by partition.", _offsets(groups))
    yield Family(
        "group_lag",
        "gauge",
        "Committed records that a group has not committed as read, by partition.",
        _lags(node, groups),
    )
    committed = sum(len(partitions) for group in groups for partitions in group.offsets.values())
    yield gauge(
        "group_series_left_out",
        f"Partitions of groups whose offset and lag are not told, as there are more than {MAX_LAGS}.",
        max(0, committed - MAX_LAGS),
    )
    yield from _counters(node)


def _members(groups: Sequence[Group]) -> Iterator[Sample]:
    return (Sample(labels(group=group.group_id), len(group.members)) for group in groups[:MAX_LAGS])


def _commits(groups: Sequence[Group]) -> Iterator[tuple[str, str, int, int]]:
    """Group, topic, partition, offset. Reads one group at a time: commits may come in between."""
    left = MAX_LAGS
    for group in groups:
        found = [
            (group.group_id, topic, partition, committed.offset)
            for topic, partitions in group.offsets.items()
            for partition, committed in partitions.items()
        ]
        yield from found[:left]
        left -= len(found)
        if left <= 0:
            return


def _offsets(groups: Sequence[Group]) -> Iterator[Sample]:
    for group, topic, partition, offset in _commits(groups):
        yield Sample(labels(group=group, topic=topic, partition=partition), offset)


def _lags(node: Node, groups: Sequence[Group]) -> Iterator[Sample]:
    led = node.broker.replicas.partitions
    for group, topic, index, offset in _commits(groups):
        partition = led.get((topic, index))
        if partition is not None:
            lag = lag_behind(offset, partition.log_start_offset, partition.high_watermark)
            yield Sample(labels(group=group, topic=topic, partition=index), lag)


def lag_behind(offset: int, log_start: int, high_watermark: int) -> int:
    """What is there to read: not what was deleted before it was read."""
    return max(0, high_watermark - max(offset, log_start))


def _counters(node: Node) -> Iterator[Family]:
    coordinator = node.broker.groups
    shards = Counter(coordinator.shard_states().values())
    yield by_label(
        "gauge",
        "coordinator_shards",
        "Partitions of __consumer_offsets that this node leads, by state.",
        "state",
        {state: shards[state] for state in _SHARD_STATES},
    )
    counters = coordinator.counters
    yield counter("group_offset_commits_total", "Offsets committed.", counters.commits)
    yield counter("group_rebalances_total", "Rebalances that came to an end.", counters.rebalances)
    yield counter("group_heartbeats_total", "Heartbeats of members.", counters.heartbeats)
    yield counter("group_session_timeouts_total", "Members removed for silence.", counters.session_timeouts)
    yield counter("group_expired_offsets_total", "Offsets dropped for age.", counters.expired_offsets)
    yield counter("group_deletions_total", "Groups deleted.", counters.deleted_groups)
