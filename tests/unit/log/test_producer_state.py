"""Which batch of an idempotent producer is next, which is a repeat, and which is refused."""

from __future__ import annotations

import pytest
from tests.support.logs import START_MS, batch_of

from mainstem.log.errors import InvalidProducerEpoch, OutOfOrderSequence
from mainstem.log.producer_state import (
    BATCHES_KEPT,
    MAX_SEQUENCE,
    ProducerStates,
    SequenceRange,
    advance_sequence,
)
from mainstem.model.batch import BatchHeader, parse_header


def header(sequence: int, count: int = 1, *, epoch: int = 0, time_ms: int = START_MS) -> BatchHeader:
    return parse_header(batch_of(*[b""] * count, producer=(7, epoch, sequence), time_ms=time_ms))


def taken(*batches: tuple[int, int], epoch: int = 0) -> ProducerStates:
    """The state after batches of (first sequence, count), at offsets that count from 100."""
    states, offset = ProducerStates(), 100
    for sequence, count in batches:
        made = header(sequence, count, epoch=epoch)
        assert states.check(made) is None
        states.update(made, offset)
        offset += count
    return states


def test_sequences_follow_each_other() -> None:
    states = taken((0, 3), (3, 2), (5, 1))
    assert states.check(header(6)) is None
    for sequence in (7, 100, MAX_SEQUENCE):
        with pytest.raises(OutOfOrderSequence):
            states.check(header(sequence))


def test_a_producer_that_is_not_known_may_begin_anywhere() -> None:
    assert ProducerStates().check(header(4_711)) is None


def test_a_repeat_of_one_of_the_last_batches_is_told_with_its_offset() -> None:
    states = taken(*[(number * 2, 2) for number in range(BATCHES_KEPT + 2)])
    for number in range(2, BATCHES_KEPT + 2):
        known = states.check(header(number * 2, 2))
        assert known is not None
        assert (known.first_offset, known.last_offset) == (100 + number * 2, 101 + number * 2)
    for sequence, count in ((0, 2), (2, 2), (6, 1), (5, 2), (6, 3)):  # too old, or not the same batch
        with pytest.raises(OutOfOrderSequence):
            states.check(header(sequence, count))


def test_a_newer_epoch_begins_at_zero_and_an_older_one_is_fenced() -> None:
    states = taken((0, 3), epoch=4)
    with pytest.raises(InvalidProducerEpoch):
        states.check(header(3, epoch=3))
    with pytest.raises(OutOfOrderSequence):
        states.check(header(3, epoch=5))
    assert states.check(header(0, epoch=5)) is None
    states.update(header(0, epoch=5), 200)
    entry = states.get(7)
    assert entry is not None
    assert (entry.epoch, entry.last_sequence, len(entry.batches)) == (5, 0, 1)


def test_sequences_wrap_to_zero() -> None:
    assert advance_sequence(MAX_SEQUENCE, 1) == 0
    assert advance_sequence(MAX_SEQUENCE - 1, 5) == 3
    states = taken((MAX_SEQUENCE - 1, 2))
    assert states.check(header(0)) is None
    across = taken((MAX_SEQUENCE, 3))
    entry = across.get(7)
    assert entry is not None
    assert entry.last_sequence == 1
    assert across.check(header(2)) is None
    assert across.check(header(MAX_SEQUENCE, 3)) == SequenceRange(1, 102, 2, START_MS + 2)


def test_a_silent_producer_is_forgotten_and_what_was_restored_counts() -> None:
    states = taken((0, 1))
    before = states.get(7)
    states.update(header(1), 101)
    states.restore(7, before)
    assert states.check(header(1)) is None
    assert states.remove_expired(START_MS + 999, 1_000) == 0
    assert states.remove_expired(START_MS + 1_000, 1_000) == 1
    assert states.get(7) is None
    states.restore(7, None)
    assert states.check(header(55)) is None
