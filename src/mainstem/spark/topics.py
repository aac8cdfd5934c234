"""Which partitions a subscription means at this moment, and which offsets a bound means there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mainstem.client.answer_codes import UNKNOWN_TOPIC_OR_PARTITION
from mainstem.client.cluster import ClusterClient, TopicView
from mainstem.client.errors import Refused
from mainstem.client.offsets import EARLIEST as ASK_EARLIEST
from mainstem.client.offsets import LATEST as ASK_LATEST
from mainstem.client.offsets import offsets_at
from mainstem.model.ids import TopicPartition, topic_id_text
from mainstem.spark.errors import InvalidOption, NoSuchTopics
from mainstem.spark.option_reading import Offsets
from mainstem.spark.options import EARLIEST, LATEST, Bound, Subscription


@dataclass(frozen=True, slots=True)
class FoundTopics:
    partitions: tuple[TopicPartition, ...]  # sorted
    topic_ids: Mapping[str, str]


def find_topics(cluster: ClusterClient, subscription: Subscription, *, may_miss: bool = False) -> FoundTopics:
    """Asks anew. With `may_miss` a topic that is not there is left out; without it that is an error."""
    if subscription.pattern is not None:
        views = _matching(cluster, subscription.pattern)
    else:
        names = subscription.topics or tuple(dict.fromkeys(part.topic for part in subscription.partitions))
        views = _named(cluster, names, may_miss)
    if not views and not may_miss:
        raise NoSuchTopics(str(subscription))
    there = {TopicPartition(view.name, part.index) for view in views for part in view.partitions}
    wanted = set(subscription.partitions) or there
    if not wanted <= there and not may_miss:
        missing = ", ".join(map(str, sorted(wanted - there)))
        raise InvalidOption("assign", missing, "there is no such partition", "Name those that are there.")
    ids = {view.name: topic_id_text(view.topic_id) for view in views}
    return FoundTopics(tuple(sorted(wanted & there)), ids)


def _matching(cluster: ClusterClient, pattern: str) -> list[TopicView]:
    matches = re.compile(pattern).fullmatch
    found = cluster.persist(lambda: cluster.refresh(None))
    return [
        view
        for name, view in found.items()
        if isinstance(view, TopicView) and not view.is_internal and matches(name)
    ]


def _named(cluster: ClusterClient, names: tuple[str, ...], may_miss: bool) -> list[TopicView]:
    found = cluster.persist(lambda: cluster.refresh(names))
    views: list[TopicView] = []
    for name in names:
        view = found.get(name)
        if isinstance(view, TopicView):
            views.append(view)
        elif isinstance(view, Refused) and view.code != UNKNOWN_TOPIC_OR_PARTITION:
            raise view
        elif not may_miss:
            raise NoSuchTopics(f"subscribe={name}")
    return views


def earliest_offsets(cluster: ClusterClient, partitions: tuple[TopicPartition, ...]) -> Offsets:
    return _ask(cluster, dict.fromkeys(partitions, ASK_EARLIEST), False)


def latest_offsets(
    cluster: ClusterClient, partitions: tuple[TopicPartition, ...], read_committed: bool
) -> Offsets:
    """With `read_committed` up to the first transaction that is still open."""
    return _ask(cluster, dict.fromkeys(partitions, ASK_LATEST), read_committed)


def bound_offsets(
    cluster: ClusterClient,
    side: str,
    bound: Bound,
    partitions: tuple[TopicPartition, ...],
    read_committed: bool,
) -> Offsets:
    """What `bound` means for each of the partitions; `side` is starting or ending."""
    if bound.timestamp_ms is not None:
        at = dict.fromkeys(partitions, bound.timestamp_ms)
        return _at_times(cluster, f"{side}Timestamp", at, bound, read_committed)
    if bound.timestamps_ms is not None:
        option = f"{side}OffsetsByTimestamp"
        _check_complete(option, bound.timestamps_ms, partitions)
        return _at_times(cluster, option, dict(bound.timestamps_ms), bound, read_committed)
    wished = bound.offsets
    if wished is None:
        wished = dict.fromkeys(partitions, bound.everywhere)
    else:
        _check_complete(f"{side}Offsets", wished, partitions)
    asked = {
        partition: ASK_EARLIEST if offset == EARLIEST else ASK_LATEST
        for partition, offset in wished.items()
        if offset in (EARLIEST, LATEST)
    }
    return {**wished, **_ask(cluster, asked, read_committed)}


def _ask(cluster: ClusterClient, asked: Mapping[TopicPartition, int], read_committed: bool) -> Offsets:
    return dict(offsets_at(cluster, asked, read_committed=read_committed)) if asked else {}


def _at_times(
    cluster: ClusterClient,
    option: str,
    at: Mapping[TopicPartition, int],
    bound: Bound,
    read_committed: bool,
) -> Offsets:
    found = _ask(cluster, at, False)
    young = [partition for partition, offset in found.items() if offset < 0]
    if young and not bound.latest_where_too_young:
        raise InvalidOption(
            option,
            ", ".join(f"{at[partition]} for {partition}" for partition in sorted(young)),
            "no record there is that young",
            "Name an earlier time, or set startingOffsetsByTimestampStrategy to latest.",
        )
    return {**found, **latest_offsets(cluster, tuple(young), read_committed)}


def _check_complete(
    option: str, named: Mapping[TopicPartition, int], partitions: tuple[TopicPartition, ...]
) -> None:
    missing = sorted(set(partitions) - set(named))
    surplus = sorted(set(named) - set(partitions))
    if missing or surplus:
        told = [f"{part} is missing" for part in missing] + [f"{part} is not read" for part in surplus]
        raise InvalidOption(
            option, None, ", ".join(told[:5]), "Name exactly the partitions that are read, each once."
        )
