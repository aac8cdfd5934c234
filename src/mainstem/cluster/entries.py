"""The values in the metadata store: JSON, each with the version of its format.

JSON because an operator can read it with `sqlite3` or `etcdctl` on a bad day. `v` is the version; a
reader refuses a newer one than it knows instead of guessing, and a new field that an old release
may drop without harm does not need a new version.

A topic's partitions are many and nearly all alike, so a `TopicEntry` keeps each distinct state once
and says by runs which partitions have it:

    "states": [[[1], [1], 1, 0, 0]]        replicas, ISR, leader, leader epoch, partition epoch
    "runs":   [0, 10000]                   state 0 for the next 10,000 partitions

With replicas spread over N nodes the states are a few times N and a partition costs some four
bytes. Reading it back gives equal partitions one shared `PartitionImage`, so that ten thousand
partitions of a topic cost one tuple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from mainstem.cluster.errors import EntryUnreadable
from mainstem.core.errors import InvalidRequest
from mainstem.core.identity.acl import AccessRule, Operation, Permission
from mainstem.core.identity.credentials import ScramCredential, UserCredentials
from mainstem.core.image import BrokerImage, Endpoint, PartitionImage, TopicImage
from mainstem.core.quotas.entity import QuotaEntity, checked_entity
from mainstem.model.ids import topic_id_from_text, topic_id_text

FORMAT_VERSION = 1

State = tuple[tuple[int, ...], tuple[int, ...], int, int, int]


class _Versioned(msgspec.Struct, frozen=True, kw_only=True):
    v: int = FORMAT_VERSION


class ClusterEntry(_Versioned, frozen=True, kw_only=True):
    cluster_id: str


class ControllerEntry(_Versioned, frozen=True, kw_only=True):
    node_id: int


class EndpointEntry(msgspec.Struct, frozen=True):
    name: str
    host: str
    port: int
    security_protocol: str


class BrokerEntry(_Versioned, frozen=True, kw_only=True, omit_defaults=True):
    host: str
    port: int
    rack: str | None = None
    incarnation: str = ""  # random per process: tells a node from another that took its id
    endpoints: tuple[EndpointEntry, ...] = ()


class TopicEntry(_Versioned, frozen=True, kw_only=True):
    id: str
    states: tuple[State, ...]
    runs: tuple[int, ...]  # state, count, state, count ...
    config: dict[str, str] = {}
    internal: bool = False


class ConfigEntry(_Versioned, frozen=True, kw_only=True):
    options: dict[str, str]


class QuotaEntry(_Versioned, frozen=True, kw_only=True):
    entity: dict[str, str | None]  # type to name; null: the default
    limits: dict[str, float]


class AclEntry(_Versioned, frozen=True, kw_only=True):
    rules: tuple[tuple[str, str, str, str], ...]  # principal, host, operation, permission


class ScramEntry(msgspec.Struct, frozen=True):
    salt: bytes  # in JSON all bytes are base64
    stored_key: bytes
    server_key: bytes
    iterations: int


class UserEntry(_Versioned, frozen=True, kw_only=True):
    scram: dict[str, ScramEntry]  # by mechanism


class ProducerIdEntry(_Versioned, frozen=True, kw_only=True):
    next_producer_id: int


E = TypeVar("E", bound=_Versioned)

_encoder = msgspec.json.Encoder()
_decoders: dict[type[Any], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind)
    for kind in (
        ClusterEntry,
        ControllerEntry,
        BrokerEntry,
        TopicEntry,
        ConfigEntry,
        QuotaEntry,
        AclEntry,
        UserEntry,
        ProducerIdEntry,
    )
}


def encode_entry(entry: _Versioned) -> bytes:
    return _encoder.encode(entry)


def decode_entry(kind: type[E], key: str, value: bytes) -> E:
    """Raises `EntryUnreadable` for damage and for a format from the future."""
    try:
        entry: E = _decoders[kind].decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EntryUnreadable(key, str(error)) from error
    if entry.v > FORMAT_VERSION:
        raise EntryUnreadable(
            key, f"its format is version {entry.v}, this release knows {FORMAT_VERSION}: start a newer one"
        )
    return entry


# --- topics


def topic_entry(topic: TopicImage) -> TopicEntry:
    numbers: dict[PartitionImage, int] = {}
    runs: list[int] = []
    for partition in topic.partitions:
        number = numbers.setdefault(partition, len(numbers))
        if runs and runs[-2] == number:
            runs[-1] += 1
        else:
            runs += (number, 1)
    return TopicEntry(
        id=topic_id_text(topic.topic_id),
        states=tuple((p.replicas, p.isr, p.leader, p.leader_epoch, p.partition_epoch) for p in numbers),
        runs=tuple(runs),
        config=dict(topic.config),
        internal=topic.is_internal,
    )


def encode_topic(topic: TopicImage) -> bytes:
    return encode_entry(topic_entry(topic))


def decode_topic(name: str, key: str, value: bytes) -> TopicImage:
    entry = decode_entry(TopicEntry, key, value)
    try:
        return TopicImage(
            name,
            topic_id_from_text(entry.id),
            _partitions(entry.states, entry.runs),
            entry.config,
            entry.internal,
        )
    except (ValueError, IndexError) as error:
        raise EntryUnreadable(key, str(error)) from error


MAX_PARTITIONS_PER_TOPIC = 100_000  # so that a damaged run cannot ask for all memory


def _partitions(states: Sequence[State], runs: Sequence[int]) -> tuple[PartitionImage, ...]:
    images = [PartitionImage(*state) for state in states]
    partitions: list[PartitionImage] = []
    for number, count in zip(runs[::2], runs[1::2], strict=True):
        if number < 0 or count < 1 or len(partitions) + count > MAX_PARTITIONS_PER_TOPIC:
            raise ValueError(f"a run of {count} partitions in state {number}")
        partitions.extend((images[number],) * count)
    if not partitions:
        raise ValueError("a topic without partitions")
    return tuple(partitions)


# --- brokers


def decode_broker(node_id: int, key: str, value: bytes, epoch: int) -> BrokerImage:
    entry = decode_entry(BrokerEntry, key, value)
    endpoints = tuple(Endpoint(e.name, e.host, e.port, e.security_protocol) for e in entry.endpoints)
    return BrokerImage(node_id, entry.host, entry.port, entry.rack, epoch, endpoints)


def broker_entry(
    host: str, port: int, rack: str | None, incarnation: str, endpoints: Sequence[Endpoint]
) -> BrokerEntry:
    listed = tuple(EndpointEntry(e.name, e.host, e.port, e.security_protocol) for e in endpoints)
    return BrokerEntry(host=host, port=port, rack=rack, incarnation=incarnation, endpoints=listed)


def encode_options(options: Mapping[str, str]) -> bytes:
    return encode_entry(ConfigEntry(options=dict(options)))


# --- quotas


def encode_quotas(entity: QuotaEntity, limits: Mapping[str, float]) -> bytes:
    return encode_entry(QuotaEntry(entity=entity.names, limits=dict(limits)))


def decode_quotas(key: str, value: bytes) -> tuple[QuotaEntity, dict[str, float]]:
    entry = decode_entry(QuotaEntry, key, value)
    try:
        return checked_entity(entry.entity.items()), entry.limits
    except InvalidRequest as error:
        raise EntryUnreadable(key, str(error)) from error


# --- access rules


def encode_rules(rules: Sequence[AccessRule]) -> bytes:
    listed = tuple((r.principal, r.host, r.operation.name.lower(), r.permission.name.lower()) for r in rules)
    return encode_entry(AclEntry(rules=listed))


def decode_rules(key: str, value: bytes) -> tuple[AccessRule, ...]:
    """A rule that this release does not understand makes the entry unreadable: it may be a denial."""
    entry = decode_entry(AclEntry, key, value)
    try:
        rules = tuple(
            AccessRule(principal, host, Operation[operation.upper()], Permission[permission.upper()])
            for principal, host, operation, permission in entry.rules
        )
    except KeyError as error:
        raise EntryUnreadable(key, f"it has {error.args[0]}, which this release does not know") from error
    if not rules:
        raise EntryUnreadable(key, "it has no rule")
    return rules


# --- users


def encode_user(credentials: UserCredentials) -> bytes:
    return encode_entry(UserEntry(scram={name: ScramEntry(*each) for name, each in credentials.items()}))


def decode_user(key: str, value: bytes) -> UserCredentials:
    entry = decode_entry(UserEntry, key, value)
    return {
        name: ScramCredential(each.salt, each.stored_key, each.server_key, each.iterations)
        for name, each in entry.scram.items()
    }
