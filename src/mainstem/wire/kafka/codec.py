"""Messages to bytes and back, for every version that the schema lists.

For each class and version a reader and a writer are compiled from the field table when they are first
needed: straight-line Python in which neighbouring fields of fixed width share one struct call. What a
version lacks is decided at compile time and costs nothing per message.

Bounds: a length is compared with the bytes that remain before anything is allocated for it, and nesting is
that of the schema, never of the data. Who reads from strangers says how many elements all arrays together
may have: an empty string is one byte on the wire and a hundred times that in memory. Whatever the bytes
are, the outcome is a message or a WireError.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, TypeVar

from mainstem.wire.errors import InvalidMessage, TruncatedMessage, UnsupportedVersion
from mainstem.wire.kafka.compile_reader import compile_reader
from mainstem.wire.kafka.compile_writer import compile_writer

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from mainstem.wire.kafka.message import Message, Reader, Writer

M = TypeVar("M", bound="Message")
NO_LIMIT: Final = 1 << 62


def _reader(cls: type[Message], version: int) -> Reader:
    schema = cls.SCHEMA
    if not schema.min_version <= version <= schema.max_version:
        raise UnsupportedVersion(f"{cls.__name__} has no version {version}")
    reader = schema.readers[version] = compile_reader(cls, version)
    return reader


def _writer(cls: type[Message], version: int) -> Writer:
    schema = cls.SCHEMA
    if not schema.min_version <= version <= schema.max_version:
        raise UnsupportedVersion(f"{cls.__name__} has no version {version}")
    writer = schema.writers[version] = compile_writer(cls, version)
    return writer


def decode(
    cls: type[M], version: int, buffer: Buffer, position: int = 0, *, most_elements: int = NO_LIMIT
) -> tuple[M, int]:
    """The message that starts at `position`, and the position after it.

    Fields of type records are slices of `buffer`, not copies. A buffer that is not `bytes` may be copied from
    `position` to its end, so hand in the slice that holds the message, not a store of many.
    """
    reader = cls.SCHEMA.readers.get(version) or _reader(cls, version)
    try:
        message, end = reader(buffer, position, most_elements)
    except (IndexError, struct.error):
        raise TruncatedMessage(f"{cls.__name__} v{version} ends before its last field") from None
    except UnicodeDecodeError as error:
        raise InvalidMessage(f"{cls.__name__} v{version} has a string that is not UTF-8: {error}") from None
    return message, end


def encode(message: Message, version: int) -> bytes:
    cls = type(message)
    writer = cls.SCHEMA.writers.get(version) or _writer(cls, version)
    parts: list[bytes] = []
    try:
        writer(message, parts.append)
        return b"".join(parts)
    except (struct.error, AttributeError, TypeError, OverflowError, UnicodeEncodeError) as error:
        raise InvalidMessage(f"{cls.__name__} v{version} holds a value that it cannot: {error}") from error
