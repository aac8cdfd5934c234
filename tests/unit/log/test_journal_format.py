"""Rounds of the journal: whole and in order, or not there."""

from __future__ import annotations

from tests.support.simulated_disk import SimulatedDisk, SimulatedFile

from mainstem.log.journal_format import (
    ALIGNMENT,
    APPEND,
    TRUNCATE,
    JournalEntry,
    build_round,
    read_rounds,
    round_bytes,
)
from mainstem.model.ids import TopicId

TOPIC = TopicId(b"t" * 16)


def append_of(payload: bytes, base_offset: int = 0) -> JournalEntry:
    return JournalEntry(
        APPEND, TOPIC, 3, base_offset, base_offset + 2, len(payload), [payload[:5], payload[5:]]
    )


def piece_with(*rounds: tuple[int, int, list[JournalEntry]]) -> SimulatedFile:
    """Of generation, sequence and entries each."""
    disk = SimulatedDisk()
    file = disk.open("/piece", create=True)
    file.write([bytes(64 * ALIGNMENT)], 0)
    position = 0
    for generation, sequence, entries in rounds:
        position += file.write(build_round(generation, sequence, 1, entries), position)
    return file


def sequences(file: SimulatedFile) -> list[int]:
    return [found.sequence for found in read_rounds(file)]


def test_there_and_back() -> None:
    cut = JournalEntry(TRUNCATE, TOPIC, 0, 7, 7, 0, [])
    large = bytes(range(256)) * 2_000  # not joined with its header
    entries = [append_of(b"first batch"), cut, append_of(large, 2)]
    (found,) = read_rounds(piece_with((4, 9, entries)))
    assert (found.generation, found.sequence, found.low_sequence) == (4, 9, 1)
    assert [entry[:6] for entry in found.entries] == [entry[:6] for entry in entries]
    assert [b"".join(entry.buffers) for entry in found.entries] == [b"first batch", b"", large]
    assert found.end_position == round_bytes(3, 11 + len(large))


def test_rounds_begin_where_a_sector_begins_and_take_the_room_that_was_told() -> None:
    for size in (0, 1, 3_900, 4_096, 300_000):
        buffers = build_round(1, 1, 1, [append_of(bytes(size))])
        assert sum(map(len, buffers)) == round_bytes(1, size)
        assert round_bytes(1, size) % ALIGNMENT == 0


def test_what_does_not_follow_is_the_rest_of_an_earlier_use() -> None:
    entries = [append_of(b"x" * 100)]
    assert sequences(piece_with((1, 1, entries), (1, 2, entries), (1, 3, entries))) == [1, 2, 3]
    assert sequences(piece_with((2, 7, entries), (1, 8, entries))) == [7]
    assert sequences(piece_with((2, 7, entries), (2, 9, entries))) == [7]
    assert sequences(piece_with()) == []


def test_no_damage_to_a_round_is_taken_for_a_round() -> None:
    entries = [append_of(b"payload" * 9)]
    file = piece_with((1, 1, entries), (1, 2, entries), (1, 3, entries))
    start, used = round_bytes(1, 63), sum(map(len, build_round(1, 2, 1, entries)[:-1]))
    for position in range(start, start + used):
        (byte,) = file.read(1, position)
        file.write([bytes([byte ^ 0x20])], position)
        assert sequences(file) == [1], position - start
        file.write([bytes([byte])], position)
    assert sequences(file) == [1, 2, 3]


def test_a_round_that_says_it_is_longer_than_its_piece_is_none() -> None:
    file = piece_with((1, 1, [append_of(b"x")]))
    file.truncate(ALIGNMENT + 100)
    assert sequences(file) == [1]
    file.truncate(ALIGNMENT - 1)
    assert sequences(file) == []
