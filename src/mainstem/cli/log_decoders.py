"""What the records of Kafka's internal topics say: keys and values of coordinators, and control records.

A coordinator's key begins with an int16 that tells the kind of record, its value with an int16 version;
the rest of each is a message of Kafka's own schema. A record that is not readable this way is shown as
the bytes that it is.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

import msgspec

from mainstem.client.groups import assigned_partitions
from mainstem.model.ids import TopicId, topic_id_text
from mainstem.wire.errors import WireError
from mainstem.wire.kafka.codec import decode
from mainstem.wire.kafka.message import Message

# Fields of a record that say what its bytes mean; None: they are not understood.
RecordDecoder = Callable[[bytes | None, bytes | None], dict[str, Any] | None]

_OFFSETS_MODULES: Final = (
    "legacy_offset_commit",
    "offset_commit",
    "group_metadata",
    "consumer_group_metadata",
    "consumer_group_partition_metadata",
    "consumer_group_member_metadata",
    "consumer_group_target_assignment_metadata",
    "consumer_group_target_assignment_member",
    "consumer_group_current_member_assignment",
    "consumer_group_regular_expression",
    "share_group_metadata",
    "share_group_member_metadata",
    "share_group_target_assignment_metadata",
    "share_group_target_assignment_member",
    "share_group_current_member_assignment",
    "share_group_state_partition_metadata",
    "streams_group_metadata",
    "streams_group_topology",
    "streams_group_member_metadata",
    "streams_group_target_assignment_metadata",
    "streams_group_target_assignment_member",
    "streams_group_current_member_assignment",
)
_TRANSACTIONS_MODULES: Final = ("transaction_log",)
_CONTROL_TYPES: Final = (
    "abort",
    "commit",
    "leader-change",
    "snapshot-header",
    "snapshot-footer",
    "kraft-version",
    "kraft-voters",
)


class _Kind(NamedTuple):
    name: str
    key: type[Message]
    value: type[Message]


@cache
def _kinds(modules: tuple[str, ...]) -> dict[int, _Kind]:
    kinds = {}
    for module_name in modules:
        module = import_module(f"mainstem.wire.kafka.records.{module_name}")
        stem = "".join(word.capitalize() for word in module_name.split("_"))
        key: type[Message] = getattr(module, f"{stem}Key")
        kinds[key.SCHEMA.key] = _Kind(module_name.replace("_", "-"), key, getattr(module, f"{stem}Value"))
    return kinds


def decode_group_record(key: bytes | None, value: bytes | None) -> dict[str, Any] | None:
    """A record of `__consumer_offsets`."""
    return _decode(_OFFSETS_MODULES, key, value)


def decode_transaction_record(key: bytes | None, value: bytes | None) -> dict[str, Any] | None:
    """A record of `__transaction_state`."""
    return _decode(_TRANSACTIONS_MODULES, key, value)


def decode_control_record(key: bytes | None, value: bytes | None) -> dict[str, Any] | None:
    """The end of a transaction, or an event of the metadata log."""
    if key is None or len(key) < 4:
        return None
    number = int.from_bytes(key[2:4], "big", signed=True)
    known = 0 <= number < len(_CONTROL_TYPES)
    fields: dict[str, Any] = {"control": _CONTROL_TYPES[number] if known else number}
    if number in (0, 1) and value is not None and len(value) >= 6:
        fields["coordinator_epoch"] = int.from_bytes(value[2:6], "big", signed=True)
    return fields


def _decode(modules: tuple[str, ...], key: bytes | None, value: bytes | None) -> dict[str, Any] | None:
    if key is None or len(key) < 2:
        return None
    kind = _kinds(modules).get(int.from_bytes(key[:2], "big", signed=True))
    if kind is None:
        return None
    try:
        key_message, _ = decode(kind.key, 0, key, 2)
        fields: dict[str, Any] = {"kind": kind.name, "key": _plain(key_message)}
        if value is None:
            return {**fields, "value": None}
        if len(value) < 2:
            return None
        version = int.from_bytes(value[:2], "big", signed=True)
        message, _ = decode(kind.value, version, value, 2)
    except WireError:
        return None
    told = _plain(message)
    if kind.name == "group-metadata":
        _tell_assignments(told, message)
    return {**fields, "version": version, "value": told}


def _plain(message: Message) -> Any:
    return _readable(msgspec.to_builtins(message, builtin_types=(bytes,)))


def _readable(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _readable(content, key) for key, content in value.items()}
    if isinstance(value, list):
        return [_readable(item, name) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        if len(value) == 16 and name.endswith("topic_id"):
            return topic_id_text(TopicId(bytes(value)))
        return b64encode(value).decode()
    return value


def _tell_assignments(told: dict[str, Any], message: Any) -> None:
    """Beside the bytes of a member's assignment, the partitions that they stand for."""
    for entry, member in zip(told["members"], message.members, strict=True):
        assigned = assigned_partitions(message.protocol_type, bytes(member.assignment))
        entry["assigned_partitions"] = [str(partition) for partition in sorted(assigned)]
