"""Lines from files and pipes, and records from plain lines."""

import os
import threading
import time
from pathlib import Path

import pytest

from mainstem.cli.record_input import json_parser, plain_parser, read_lines
from mainstem.cli.record_text import InvalidLine


def lines_of(path: Path, content: bytes, **options: int) -> list[bytes | None]:
    path.write_bytes(content)
    with path.open("rb") as file:
        return list(read_lines(file.fileno(), **options))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"\n", [b""]),
        (b"a\r\n\xff\x00\n", [b"a\r", b"\xff\x00"]),
    ],
)
def test_lines_are_bytes_without_their_line_feed(tmp_path: Path, content: bytes, lines: list[bytes]) -> None:
    assert lines_of(tmp_path / "in", content) == lines


def test_lines_over_the_edges_of_what_is_read_at_once(tmp_path: Path) -> None:
    lines = [b"x" * size for size in (262_143, 262_144, 1, 700_000, 0, 3)]
    assert lines_of(tmp_path / "in", b"\n".join(lines)) == lines


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidLine, match="more than 1000000 bytes: is this a file of lines"):
        lines_of(tmp_path / "in", bytes(3_000_000), max_line_bytes=1_000_000)


def test_waiting_for_a_pipe_is_told_and_costs_little() -> None:
    reading, writing = os.pipe()

    def write() -> None:
        os.write(writing, b"first\nsec")
        time.sleep(0.5)
        os.write(writing, b"ond\n")
        os.close(writing)

    threading.Thread(target=write).start()
    started = time.process_time()
    got = list(read_lines(reading))
    os.close(reading)
    assert [line for line in got if line is not None] == [b"first", b"second"]
    assert None in got[got.index(b"first") : got.index(b"second")]
    assert len(got) < 20
    assert time.process_time() - started < 0.2


def test_plain_lines_with_headers_key_and_value() -> None:
    parse = plain_parser(
        key_separator=b":", header_separator=b"|", null_marker=b"NULL", headers=[("source", b"test")]
    )
    record, partition = parse(b"a=1,b=NULL,c=|k:v:w", 5)
    assert (record.key, record.value, record.timestamp_ms, partition) == (b"k", b"v:w", 5, None)
    assert list(record.headers) == [("source", b"test"), (b"a", b"1"), (b"b", None), (b"c", b"")]
    record, _ = parse(b"|NULL:NULL", 5)
    assert (record.key, record.value, list(record.headers)) == (None, None, [("source", b"test")])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"a=1|kv", "lacks the key separator ':'"),
        (b"k:v", "lacks the header separator"),
        (b"a|k:v", "header 'a' is not name=value"),
    ],
)
def test_a_line_that_lacks_a_part_is_refused(line: bytes, told: str) -> None:
    parse = plain_parser(key_separator=b":", header_separator=b"|", null_marker=None, headers=())
    with pytest.raises(InvalidLine, match=told.replace("|", r"\|")):
        parse(line, 0)


def test_without_separators_a_line_is_a_value() -> None:
    parse = plain_parser(key_separator=None, header_separator=None, null_marker=None, headers=())
    record, _ = parse(b"a=1|k:v", 0)
    assert (record.key, record.value, record.headers) == (None, b"a=1|k:v", ())


def test_fixed_headers_stand_before_those_of_a_json_line() -> None:
    record, partition = json_parser(headers=[("a", b"1")])(b'{"headers":{"b":"2"},"partition":4}', 0)
    assert list(record.headers) == [("a", b"1"), (b"b", b"2")]
    assert partition == 4
