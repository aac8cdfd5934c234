"""Records from lines of text: reading the lines, and taking a line apart.

A plain line is `headers HEADER-SEPARATOR key KEY-SEPARATOR value`, where the parts before the value are
there only if their separators are given, and headers are `name=value,name=value`. Bytes go in as they
are: nothing is decoded, only the line feed is taken off.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mainstem.cli.record_text import InvalidLine, parse_json_line
from mainstem.model.records import NewRecord

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_CHUNK_BYTES: Final = 256 * 1024
_SHORTEST_WAIT_MS: Final = 5
_LONGEST_WAIT_MS: Final = 500

FixedHeaders = Sequence[tuple[str | bytes, bytes | None]]
# From a line and the time in milliseconds to a record and the partition that the line asks for.
LineParser = Callable[[bytes, int], tuple[NewRecord, int | None]]


def read_lines(descriptor: int, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    """The lines without their line feeds; None whenever there is nothing to read at the moment."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    wait_ms = 0
    pieces: list[bytes] = []  # of a line whose end has not come yet
    while True:
        if not poller.poll(wait_ms):
            wait_ms = min(max(2 * wait_ms, _SHORTEST_WAIT_MS), _LONGEST_WAIT_MS)
            yield None
            continue
        wait_ms = 0
        chunk = os.read(descriptor, _CHUNK_BYTES)
        if not chunk:
            break
        first, *others = chunk.split(b"\n")
        pieces.append(first)
        if others:
            yield b"".join(pieces)
            yield from others[:-1]
            pieces = [others[-1]]
        elif sum(map(len, pieces)) > max_line_bytes:
            raise InvalidLine(f"it has more than {max_line_bytes} bytes: is this a file of lines?")
    last = b"".join(pieces)
    if last:
        yield last


def plain_parser(
    *,
    key_separator: bytes | None,
    header_separator: bytes | None,
    null_marker: bytes | None,
    headers: FixedHeaders,
) -> LineParser:
    def content(text: bytes) -> bytes | None:
        return None if text == null_marker else text

    def parse(line: bytes, now_ms: int) -> tuple[NewRecord, int | None]:
        own_headers: FixedHeaders = ()
        if header_separator is not None:
            text, line = _split(line, header_separator, "header separator")
            own_headers = _headers_of(text, null_marker)
        key = None
        if key_separator is not None:
            text, line = _split(line, key_separator, "key separator")
            key = content(text)
        return NewRecord(key, content(line), (*headers, *own_headers), now_ms), None

    return parse


def json_parser(*, headers: FixedHeaders) -> LineParser:
    def parse(line: bytes, now_ms: int) -> tuple[NewRecord, int | None]:
        record, partition = parse_json_line(line, now_ms)
        if headers:
            record = record._replace(headers=(*headers, *record.headers))
        return record, partition

    return parse


def _split(line: bytes, separator: bytes, name: str) -> tuple[bytes, bytes]:
    before, found, after = line.partition(separator)
    if not found:
        raise InvalidLine(f"it lacks the {name} {separator.decode(errors='replace')!r}")
    return before, after


def _headers_of(text: bytes, null_marker: bytes | None) -> FixedHeaders:
    headers: list[tuple[bytes, bytes | None]] = []
    for pair in text.split(b",") if text else ():
        name, equals, value = pair.partition(b"=")
        if not equals:
            raise InvalidLine(f"its header {pair.decode(errors='replace')!r} is not name=value")
        headers.append((name, None if value == null_marker else value))
    return headers
