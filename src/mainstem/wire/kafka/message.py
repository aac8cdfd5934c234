"""What a message class is made of: typed fields for people, a field table for the codec.

Each class carries a `SCHEMA`. That of a nested class lists only fields: which of them are on the wire is
decided by the version of the message around it. That of a whole message also says which versions there
are and from which on the compact, tagged encoding ("flexible versions") is used.

Version ranges are written as Kafka writes them: "3+", "0-4", "2", "none".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import msgspec

ZERO_UUID = bytes(16)

Reader = Callable[[Any, int, int], tuple[Any, int]]  # bytes, position, the most elements of arrays
Writer = Callable[[Any, Callable[[Any], None]], None]


def version_range(text: str) -> tuple[int, int]:
    """Lowest and highest version of a range; an empty range has the lowest above the highest."""
    if text == "none":
        return 1, 0
    low, dash, high = text.rstrip("+").partition("-")
    if text.endswith("+"):
        return int(low), 0x7FFF
    return int(low), int(high if dash else low)


class Field(NamedTuple):
    """One line of the table; the default of the field is the one of the class."""

    name: str
    kind: str  # a primitive, "struct", or either of them after "[]"
    versions: str
    of: type[Message] | None = None  # the class of a struct, or of the elements of an array
    nullable: str = "none"
    tag: int | None = None
    tagged: str = "none"  # the versions in which the field is in the tagged section
    ignorable: bool = False  # may be left out silently in a version that lacks the field
    flexible: bool = True  # False: never in the compact encoding, whatever the version


class Schema:
    """The field table of one class, and the codecs compiled from it so far, by version."""

    __slots__ = ("fields", "flexible", "key", "max_version", "min_version", "readers", "writers")

    def __init__(self, *fields: Field, versions: str = "none", flexible: str = "none", key: int = -1) -> None:
        self.fields = fields
        self.key = key  # the API key, or the type of a coordinator record
        self.min_version, self.max_version = version_range(versions)
        self.flexible = flexible
        self.readers: dict[int, Reader] = {}
        self.writers: dict[int, Writer] = {}

    def is_flexible(self, version: int) -> bool:
        low, high = version_range(self.flexible)
        return low <= version <= high


class Message(msgspec.Struct, kw_only=True, gc=False):
    """Messages hold no cycles, so the garbage collector need not look at them."""

    SCHEMA: ClassVar[Schema] = Schema()
