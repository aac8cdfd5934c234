"""Records as text: JSON lines that lose nothing, and plain lines for eyes and pipes.

In JSON a key, a value or a header's value is a string where the bytes are UTF-8, null where there is
none, and `{"base64": "..."}` for any other bytes. Headers are a list of pairs, because a name may
come twice and their order counts. On the way in a value may also be any other JSON: it is stored as
the text of that JSON; and headers may be an object.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from string import Formatter
from typing import Any, Final

import click
import msgspec

from mainstem.cli.moments import time_text
from mainstem.client.reader import FetchedRecord
from mainstem.model.errors import PeerError
from mainstem.model.records import NewRecord

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_FIELDS = frozenset({"topic", "partition", "offset", "timestamp", "key", "value", "headers"})


class InvalidLine(PeerError):
    """A line of the input that is no record."""


def json_bytes(content: bytes | None) -> Any:
    if content is None:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(content).decode()}


def json_line(record: FetchedRecord) -> bytes:
    document = {
        "topic": record.partition.topic,
        "partition": record.partition.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": json_bytes(record.key),
        "value": json_bytes(record.value),
        "headers": [[json_bytes(name), json_bytes(value)] for name, value in record.headers],
    }
    return _encode(document) + b"\n"


def parse_json_line(line: bytes, now_ms: int) -> tuple[NewRecord, int | None]:
    """The record and the partition that the line asks for."""
    try:
        document = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidLine(f"no JSON: {error}") from None
    if not isinstance(document, dict):
        raise InvalidLine("no JSON object")
    unknown = document.keys() - _FIELDS
    if unknown:
        raise InvalidLine(f"unknown field {sorted(unknown)[0]!r} (known: {', '.join(sorted(_FIELDS))})")
    partition = document.get("partition")
    if partition is not None and (not _is_int(partition) or partition < 0):
        raise InvalidLine(f"partition {partition!r} is no number of a partition")
    timestamp = document.get("timestamp")
    if timestamp is not None and not _is_int(timestamp):
        raise InvalidLine(f"timestamp {timestamp!r} is not in milliseconds since 1970")
    record = NewRecord(
        _bytes_of(document.get("key"), "key"),
        _bytes_of(document.get("value"), "value"),
        _headers_of(document.get("headers")),
        now_ms if timestamp is None else timestamp,
    )
    return record, partition


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _bytes_of(value: Any, place: str) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            return b64decode(value["base64"], validate=True)
        except (ValueError, TypeError):
            raise InvalidLine(f"the base64 of the {place} is malformed") from None
    return _encode(value)


def _headers_of(value: Any) -> list[tuple[str | bytes, bytes | None]]:
    pairs = list(value.items()) if isinstance(value, dict) else value or []
    if not isinstance(pairs, list):
        raise InvalidLine("headers are a list of [name, value] or an object")
    headers: list[tuple[str | bytes, bytes | None]] = []
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or pair[0] is None:
            raise InvalidLine("headers are a list of [name, value] or an object")
        headers.append((_bytes_of(pair[0], "header name") or b"", _bytes_of(pair[1], "header")))
    return headers


# --- plain lines: bytes go out as they are


def _headers_text(record: FetchedRecord) -> bytes:
    return b",".join(name + b"=" + (value or b"") for name, value in record.headers)


PLAIN_FIELDS: Final[dict[str, Callable[[FetchedRecord], bytes]]] = {
    "topic": lambda record: record.partition.topic.encode(),
    "partition": lambda record: b"%d" % record.partition.partition,
    "offset": lambda record: b"%d" % record.offset,
    "timestamp": lambda record: time_text(record.timestamp_ms).encode(),
    "timestamp_ms": lambda record: b"%d" % record.timestamp_ms,
    "key": lambda record: record.key or b"",
    "value": lambda record: record.value or b"",
    "headers": _headers_text,
}


def plain_line(fields: Sequence[str], separator: bytes) -> Callable[[FetchedRecord], bytes]:
    if list(fields) == ["value"]:
        return lambda record: (record.value or b"") + b"\n"
    writers = [PLAIN_FIELDS[field] for field in fields]
    return lambda record: separator.join([write(record) for write in writers]) + b"\n"


def template_line(template: str) -> Callable[[FetchedRecord], bytes]:
    """From a text with fields in braces, such as `{partition}@{offset} {value}\\n`."""
    parts: list[bytes | Callable[[FetchedRecord], bytes]] = []
    try:
        pieces = list(Formatter().parse(unescape(template)))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--format") from None
    for literal, field, _, _ in pieces:
        if literal:
            parts.append(literal.encode())
        if field is not None:
            if field not in PLAIN_FIELDS:
                known = ", ".join(PLAIN_FIELDS)
                raise click.BadParameter(f"no field {field!r}; there are {known}", param_hint="--format")
            parts.append(PLAIN_FIELDS[field])
    return lambda record: b"".join([part if isinstance(part, bytes) else part(record) for part in parts])


def unescape(text: str) -> str:
    r"""What people type for a tab or a new line: \t, \n, \r, \0, \\."""
    plain = {"t": "\t", "n": "\n", "r": "\r", "0": "\0", "\\": "\\"}
    result, position = [], 0
    while position < len(text):
        character = text[position]
        if character == "\\" and text[position + 1 : position + 2] in plain:
            result.append(plain[text[position + 1]])
            position += 2
        else:
            result.append(character)
            position += 1
    return "".join(result)
