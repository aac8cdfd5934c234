"""The field table of a class as one version of the message sees it."""

from __future__ import annotations

from typing import Any, NamedTuple

from mainstem.wire.kafka.message import Message, version_range

# Primitives of fixed width: the struct code and the size in bytes.
FIXED = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}


class Slot(NamedTuple):
    name: str
    kind: str
    of: type[Message] | None
    nullable: bool
    compact: bool
    tag: int
    ignorable: bool
    default: Any


class Layout(NamedTuple):
    present: list[Slot]  # in wire order
    tagged: list[Slot]  # by ascending tag
    absent: list[Slot]


def _within(text: str, version: int) -> bool:
    low, high = version_range(text)
    return low <= version <= high


def layout_of(cls: type[Message], version: int, flexible: bool) -> Layout:
    result = Layout([], [], [])
    blank = cls()
    for field in cls.SCHEMA.fields:
        tag = -1 if field.tag is None or not flexible or not _within(field.tagged, version) else field.tag
        slot = Slot(
            name=field.name,
            kind=field.kind,
            of=field.of,
            nullable=_within(field.nullable, version),
            compact=flexible and field.flexible,
            tag=tag,
            ignorable=field.ignorable,
            default=getattr(blank, field.name),
        )
        if not _within(field.versions, version):
            result.absent.append(slot)
        elif tag >= 0:
            result.tagged.append(slot)
        else:
            result.present.append(slot)
    result.tagged.sort(key=lambda slot: slot.tag)
    return result


def minimum_size(kind: str, of: type[Message] | None, version: int, flexible: bool) -> int:
    """The fewest bytes that one value takes: what bounds the count of an array before it is believed."""
    if kind in FIXED:
        return FIXED[kind][1]
    if kind == "struct":
        assert of is not None
        present = layout_of(of, version, flexible).present
        total = sum(
            1
            if slot.kind == "struct" and slot.nullable
            else minimum_size(slot.kind, slot.of, version, flexible)
            for slot in present
        )
        return max(1, total + flexible)
    if flexible:
        return 1
    return 2 if kind == "string" else 4
