"""What a log keeps of transactions: where the unstable part begins, and which of them were aborted."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.logs import append, batch_of, new_log, recovered, staged, storage_on
from tests.support.transactions import end_of, transactional

from mainstem.config.topic_options import TopicConfig
from mainstem.log.errors import InvalidProducerEpoch, InvalidTransactionState, LogReadFailed, LogWriteFailed
from mainstem.log.offset_index import OffsetIndex
from mainstem.log.partition_log import PartitionLog
from mainstem.log.producer_state import NOTHING_UNSTABLE
from mainstem.log.transaction_index import AbortedTransaction, TransactionIndex
from mainstem.model.batch import Buffer
from mainstem.model.records import NewRecord, build_batch
from mainstem.ports.disk import File

CONFIG = TopicConfig(index_interval_bytes=100)


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    return new_log(str(tmp_path), CONFIG)


def refusal(log: PartitionLog, batch: bytes) -> Exception | None:
    [outcome] = log.append(staged([batch]), 0).outcomes
    return outcome.error


def aborted(log: PartitionLog) -> list[AbortedTransaction]:
    return [entry for segment in log.segments for entry in segment.transaction_index.read_all()]


def test_the_unstable_part_begins_at_the_oldest_open_transaction(log: PartitionLog) -> None:
    append(log, batch_of(b"plain"))
    assert log.producers.first_unstable_offset == NOTHING_UNSTABLE
    append(log, transactional(1, b"a"))
    append(log, transactional(2, b"b"))
    append(log, transactional(1, b"c", sequence=1))
    assert log.producers.first_unstable_offset == 1
    assert list(log.producers.open_transactions.items()) == [(1, 1), (2, 2)]
    append(log, end_of(1, commit=True))
    assert log.producers.first_unstable_offset == 1, "the marker is not known to be committed"
    log.producers.settle(4)
    assert log.producers.first_unstable_offset == 1
    log.producers.settle(5)
    assert log.producers.first_unstable_offset == 2
    append(log, end_of(2, commit=False))
    log.producers.settle(6)
    assert log.producers.first_unstable_offset == NOTHING_UNSTABLE
    assert aborted(log) == [AbortedTransaction(2, 2, 5, 6)]


def test_an_entry_says_how_far_the_log_was_stable(log: PartitionLog) -> None:
    append(log, transactional(1, b"a"), transactional(2, b"b"), transactional(3, b"c"))
    append(log, end_of(2, commit=False), end_of(1, commit=False), end_of(3, commit=False))
    assert aborted(log) == [
        AbortedTransaction(2, 1, 3, 0),
        AbortedTransaction(1, 0, 4, 2),
        AbortedTransaction(3, 2, 5, 6),
    ]


def test_a_marker_that_ends_nothing_leaves_no_entry(log: PartitionLog) -> None:
    append(log, end_of(1, commit=False), end_of(1, commit=False))
    append(log, transactional(1, b"a"))
    assert log.producers.first_unstable_offset == 2
    assert aborted(log) == []


def test_an_open_transaction_is_not_written_around(log: PartitionLog) -> None:
    append(log, batch_of(b"before", producer=(1, 0, 0)))
    append(log, transactional(1, b"a", sequence=1))
    assert isinstance(refusal(log, batch_of(b"x", producer=(1, 0, 2))), InvalidTransactionState)
    assert isinstance(refusal(log, batch_of(b"x", producer=(1, 1, 0))), InvalidTransactionState)
    assert refusal(log, batch_of(b"before", producer=(1, 0, 0))) is None, "a repeat is answered"
    assert log.log_end_offset == 2
    append(log, end_of(1, commit=True))
    append(log, batch_of(b"after", producer=(1, 0, 2)))


def test_a_marker_with_a_newer_epoch_keeps_the_producer_out(log: PartitionLog) -> None:
    append(log, transactional(1, b"a", epoch=4))
    append(log, end_of(1, commit=True, epoch=5))
    assert isinstance(refusal(log, transactional(1, b"b", epoch=4, sequence=1)), InvalidProducerEpoch)
    assert isinstance(refusal(log, end_of(1, commit=True, epoch=4)), InvalidProducerEpoch)
    append(log, transactional(1, b"c", epoch=5))
    assert log.producers.has_open_transaction(1, 5)
    assert not log.producers.has_open_transaction(1, 4)


def test_a_coordinators_records_open_a_transaction_without_sequences(log: PartitionLog) -> None:
    def offsets_of(epoch: int) -> bytes:
        records = [NewRecord(b"k", b"v", timestamp_ms=0)] * 2
        return build_batch(records, producer_id=1, producer_epoch=epoch, is_transactional=True)

    append(log, offsets_of(3))
    append(log, offsets_of(3))
    assert log.producers.open_transactions == {1: 0}
    assert isinstance(refusal(log, offsets_of(2)), InvalidProducerEpoch)
    again = recovered(log, recovery_point=0)
    assert again.producers.entries == log.producers.entries
    assert again.producers.first_unstable_offset == 0


def test_a_write_that_failed_leaves_transactions_as_they_were(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(log, transactional(1, b"a"), transactional(2, b"b"), transactional(3, b"c"))
    append(log, end_of(3, commit=False))
    before = (log.producers.entries[1], dict(log.producers.open_transactions), aborted(log))
    file = log.active.log_file()
    write = type(file).write

    def refused(self: File, buffers: Sequence[Buffer], position: int) -> int:
        if self is file:
            raise OSError(errno.ENOSPC, "full")
        return write(self, buffers, position)

    with monkeypatch.context() as patched:
        patched.setattr(type(file), "write", refused)
        with pytest.raises(LogWriteFailed):
            log.append(staged([transactional(4, b"d"), end_of(1, commit=False)]), 0)
    assert (log.producers.entries[1], dict(log.producers.open_transactions), aborted(log)) == before
    assert log.producers.get(4) is None
    append(log, end_of(1, commit=False))
    assert [entry.producer_id for entry in aborted(log)] == [3, 1]


@pytest.mark.parametrize("clean", [True, False])
def test_open_transactions_outlive_the_process(log: PartitionLog, clean: bool) -> None:
    append(log, transactional(1, b"a"))
    log.roll()
    append(log, transactional(2, b"b"), transactional(3, b"c"))
    append(log, end_of(2, commit=False))
    if clean:
        log.close()
    again = recovered(log, recovery_point=4 if clean else 0)
    assert dict(again.producers.open_transactions) == {1: 0, 3: 2}
    assert again.producers.first_unstable_offset == 0
    assert aborted(again) == [AbortedTransaction(2, 1, 3, 0)]


def filled_with_aborts(log: PartitionLog) -> list[AbortedTransaction]:
    """Two in the first segment, one that reaches from the first into the third."""
    append(log, transactional(9, b"long"))
    for producer in (1, 2):
        append(log, transactional(producer, b"x" * 200))
        append(log, end_of(producer, commit=False))
    log.roll()
    append(log, batch_of(b"plain"))
    log.roll()
    append(log, end_of(9, commit=False))
    append(log, batch_of(b"last"))
    return aborted(log)


def test_a_reader_is_told_of_transactions_that_end_in_a_later_segment(log: PartitionLog) -> None:
    one, two, long = filled_with_aborts(log)
    first = log.locate(0, 1, log.log_end_offset, at_least_one=True)
    assert first is not None
    told = log.aborted_in(0, first, log.log_end_offset)
    assert long in told
    assert two not in told, "its records lie far behind what was read"
    whole = log.locate(0, 1 << 20, log.log_end_offset, at_least_one=True)
    assert whole is not None
    assert log.aborted_in(0, whole, log.log_end_offset) == [one, two, long]
    middle = log.locate(5, 1 << 20, log.log_end_offset, at_least_one=True)
    assert middle is not None
    assert log.aborted_in(5, middle, log.log_end_offset) == [long]
    end = log.locate(7, 1 << 20, log.log_end_offset, at_least_one=True)
    assert end is not None
    assert log.aborted_in(7, end, log.log_end_offset) == []


def test_an_index_that_cannot_be_read_is_the_disks_fault(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody must get the records without being told which of them were aborted."""
    filled_with_aborts(log)
    found = log.locate(0, 1, log.log_end_offset, at_least_one=True)
    assert found is not None

    def refused(self: TransactionIndex, offset: int, limit_offset: int) -> None:
        raise OSError(errno.EIO, f"{self.path} {offset} {limit_offset}")

    monkeypatch.setattr(TransactionIndex, "overlapping", refused)
    with pytest.raises(LogReadFailed):
        log.aborted_in(0, found, log.log_end_offset)


def test_entries_go_with_their_segment(log: PartitionLog) -> None:
    filled_with_aborts(log)
    log.flush()
    log.delete_records(6)
    assert log.delete_due_segments(log._storage.clock.now_ms(), limit_offset=6) == 2
    assert [entry.producer_id for entry in aborted(log)] == [9]
    found = log.locate(6, 1 << 20, log.log_end_offset, at_least_one=True)
    assert found is not None
    assert [entry.producer_id for entry in log.aborted_in(6, found, log.log_end_offset)] == [9]


def test_the_index_of_the_active_segment_is_stored_with_its_log(log: PartitionLog) -> None:
    append(log, transactional(1, b"a"), end_of(1, commit=False))
    assert log.active.is_transaction_index_dirty
    log.flush()
    assert not log.active.is_transaction_index_dirty


@pytest.mark.parametrize("damage", ["missing", "torn", "zeros", "stale"])
def test_recovery_makes_entries_anew(log: PartitionLog, damage: str) -> None:
    for number in range(5):
        append(log, transactional(number, b"a"), end_of(number, commit=number % 2 == 0))
    expected = aborted(log)
    path = Path(log.active.transaction_index.path)
    content = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "torn":
            path.write_bytes(content[:-5])
        case "zeros":
            path.write_bytes(bytes(len(content)))
        case "stale":
            path.write_bytes(content + content)
    assert aborted(recovered(log, recovery_point=0)) == expected


def test_overlapping_stops_where_no_later_entry_can_matter(tmp_path: Path) -> None:
    index = TransactionIndex(storage_on().files, str(tmp_path / "x.txnindex"))
    entries = [AbortedTransaction(n, 10 * n, 10 * n + 9, 10 * n + 10) for n in range(1000)]
    index.append(entries[:400])
    index.append(entries[400:])
    assert index.entry_count() == 1000
    assert index.overlapping(0, 5) == (entries[:1], True)
    assert index.overlapping(4_005, 4_025) == (entries[400:403], True)
    assert index.overlapping(9_995, 20_000) == (entries[999:], False)
    assert index.overlapping(20_000, 30_000) == ([], False)
    index.truncate(4_009)
    assert index.read_all() == entries[:400]
    with pytest.raises(ValueError, match="does not come after"):
        index.append([entries[399]])


def test_an_offset_behind_a_position(tmp_path: Path) -> None:
    index = OffsetIndex(storage_on().files, str(tmp_path / "x.index"), is_new=True)
    assert index.offset_at_or_after(0) is None
    for number in range(5_000):
        index.append(3 * number + 2, 10 * number)
    for position, offset in [(0, 2), (1, 5), (10, 5), (11, 8), (20_005, 6_005), (49_990, 14_999)]:
        assert index.offset_at_or_after(position) == offset
    assert index.offset_at_or_after(49_991) is None
