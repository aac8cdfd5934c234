from __future__ import annotations

import pytest
from tests.support.simulated_disk import SimulatedDisk

from mainstem.log.errors import LogCorrupt
from mainstem.log.leader_epochs import FILE_NAME, EpochStart, LeaderEpochs, parse_checkpoint

THREE = [EpochStart(0, 0), EpochStart(2, 10), EpochStart(5, 30)]


def test_an_epoch_begins_where_its_first_batch_is() -> None:
    epochs = LeaderEpochs()
    for epoch, offset in [(0, 0), (0, 4), (2, 10), (2, 20), (5, 30), (-1, 40)]:
        epochs.assign(epoch, offset)
    assert list(epochs.entries) == THREE
    assert epochs.latest_epoch == 5
    assert epochs.is_dirty


def test_what_contradicts_a_new_epoch_is_dropped() -> None:
    epochs = LeaderEpochs(THREE)
    epochs.assign(6, 20)  # the log was cut back to 20 and goes on under another leader
    assert list(epochs.entries) == [EpochStart(0, 0), EpochStart(2, 10), EpochStart(6, 20)]
    epochs.assign(1, 15)
    assert list(epochs.entries) == [EpochStart(0, 0), EpochStart(1, 15)]


@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (9, 0), (10, 2), (29, 2), (30, 5), (1_000, 5)])
def test_the_epoch_of_an_offset(offset: int, epoch: int) -> None:
    assert LeaderEpochs(THREE).epoch_of(offset) == epoch


def test_an_offset_before_the_first_epoch_has_none() -> None:
    assert LeaderEpochs([EpochStart(3, 7)]).epoch_of(6) == -1
    assert LeaderEpochs().epoch_of(0) == -1


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (5, EpochStart(5, 44)),
        (4, EpochStart(2, 30)),  # the greatest up to it, and where that one ended
        (2, EpochStart(2, 30)),
        (1, EpochStart(0, 10)),
        (0, EpochStart(0, 10)),
        (6, EpochStart(-1, -1)),
        (-1, EpochStart(-1, -1)),
    ],
)
def test_where_an_epoch_ended(asked: int, told: EpochStart) -> None:
    assert LeaderEpochs(THREE).end_offset_of(asked, 44) == told


def test_an_epoch_older_than_all_ended_where_the_first_begins() -> None:
    assert LeaderEpochs([EpochStart(3, 7)]).end_offset_of(1, 44) == EpochStart(1, 7)
    assert LeaderEpochs().end_offset_of(1, 44) == EpochStart(-1, -1)


def test_both_ends_can_be_cut() -> None:
    epochs = LeaderEpochs(THREE)
    epochs.truncate_from_end(31)
    assert (list(epochs.entries), epochs.is_dirty) == (THREE, False)
    epochs.truncate_from_end(30)
    assert list(epochs.entries) == THREE[:2]
    epochs.truncate_from_start(12)
    assert list(epochs.entries) == [EpochStart(2, 12)]
    epochs.truncate_from_start(5)
    assert list(epochs.entries) == [EpochStart(2, 12)]


def test_the_file_is_kafkas_text() -> None:
    disk = SimulatedDisk()
    disk.make_directory("/t-0")
    disk.sync_directory("/")
    epochs = LeaderEpochs(THREE)
    epochs.is_dirty = True
    epochs.save(disk, "/t-0", sync=True)
    assert not epochs.is_dirty
    assert disk.read_file(f"/t-0/{FILE_NAME}") == b"0\n3\n0 0\n2 10\n5 30\n"
    disk.lose_power()
    assert LeaderEpochs.load(disk, "/t-0").entries == tuple(THREE)


def test_a_log_without_the_file_knows_no_epochs() -> None:
    disk = SimulatedDisk()
    disk.make_directory("/t-0")
    assert LeaderEpochs.load(disk, "/t-0").entries == ()


@pytest.mark.parametrize("raw", [b"", b"1\n0\n", b"0\n2\n0 0\n", b"0\n1\n0 0 0\n", b"0\n1\nx 0\n", b"\xff\n"])
def test_a_damaged_file_is_told(raw: bytes) -> None:
    with pytest.raises(LogCorrupt, match="here"):
        parse_checkpoint("here", raw)
