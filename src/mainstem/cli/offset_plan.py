"""What `mainstem group reset-offsets` would commit: a rule applied to partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click

from mainstem.client.answer_codes import GROUP_ID_NOT_FOUND
from mainstem.client.cluster import ClusterClient, check_partition
from mainstem.client.errors import Refused
from mainstem.client.groups import committed_offsets, describe_group
from mainstem.client.offsets import offsets_at, partition_ranges, partitions_of
from mainstem.model.errors import PeerError
from mainstem.model.ids import TopicPartition


class GroupInUse(PeerError):
    """Whatever is committed now, the members would overwrite."""


class NothingCommitted(PeerError):
    """The rule needs a committed offset and there is none."""


class OffsetRule(NamedTuple):
    """One of earliest, latest, offset, timestamp, shift."""

    kind: str
    value: int = 0

    @classmethod
    def chosen(
        cls,
        *,
        to_earliest: bool,
        to_latest: bool,
        to_offset: int | None,
        to_timestamp_ms: int | None,
        shift_by: int | None,
    ) -> OffsetRule:
        rules = [cls("earliest")] if to_earliest else []
        rules += [cls("latest")] if to_latest else []
        for kind, value in (("offset", to_offset), ("timestamp", to_timestamp_ms), ("shift", shift_by)):
            rules += [] if value is None else [cls(kind, value)]
        if len(rules) != 1:
            raise click.UsageError(
                "say where to, once: --to-earliest, --to-latest, --to-offset, --to-timestamp or --shift-by"
            )
        return rules[0]


class PlannedOffset(NamedTuple):
    partition: TopicPartition
    committed_offset: int | None
    new_offset: int


def parse_topics(texts: Sequence[str]) -> dict[str, list[int] | None]:
    """`TOPIC` or `TOPIC:0,2`; None stands for all partitions."""
    chosen: dict[str, list[int] | None] = {}
    for text in texts:
        topic, colon, numbers = text.partition(":")
        if not colon:
            chosen[topic] = None
            continue
        try:
            parsed = [int(number) for number in numbers.split(",")]
        except ValueError:
            raise click.BadParameter(f"{text!r} is not TOPIC or TOPIC:0,1,2", param_hint="--topic") from None
        known = chosen.setdefault(topic, [])
        if known is not None:
            known += parsed
    return chosen


def refuse_active(cluster: ClusterClient, group: str) -> None:
    """A group that does not exist yet is fine: its first offsets make it."""
    try:
        view = describe_group(cluster, group)
    except Refused as error:
        if error.code == GROUP_ID_NOT_FOUND:
            return
        raise
    if view.members or view.state not in ("Empty", "Dead"):
        members = ", ".join(sorted({f"{member.client_id}@{member.host}" for member in view.members}))
        raise GroupInUse(
            f"group {group} is in use (state {view.state}{', members ' + members if members else ''}): "
            "stop its consumers first"
        )


def plan_offsets(
    cluster: ClusterClient, group: str, rule: OffsetRule, topics: Mapping[str, list[int] | None]
) -> list[PlannedOffset]:
    committed = {place: found.offset for place, found in committed_offsets(cluster, group).items()}
    places = _places(cluster, topics) if topics else sorted(committed)
    if not places:
        raise NothingCommitted(f"group {group} has committed nothing: name topics with --topic")
    if rule.kind == "shift":
        for place in places:
            if place not in committed:
                raise NothingCommitted(f"group {group} has committed nothing for {place} to shift from")
    ranges = partition_ranges(cluster, places)
    found = offsets_at(cluster, dict.fromkeys(places, rule.value)) if rule.kind == "timestamp" else {}
    plan = []
    for place in places:
        start, end = ranges[place]
        wanted = {
            "earliest": start,
            "latest": end,
            "offset": rule.value,
            "timestamp": found.get(place, -1) if found.get(place, -1) >= 0 else end,
            "shift": committed.get(place, 0) + rule.value,
        }[rule.kind]
        plan.append(PlannedOffset(place, committed.get(place), min(max(wanted, start), end)))
    return plan


def _places(cluster: ClusterClient, topics: Mapping[str, list[int] | None]) -> list[TopicPartition]:
    places: set[TopicPartition] = set()
    for topic, numbers in topics.items():
        partitions = partitions_of(cluster, topic)
        if numbers is None:
            places.update(partitions)
        for number in numbers or ():
            check_partition(TopicPartition(topic, number), len(partitions))
            places.add(TopicPartition(topic, number))
    return sorted(places)
