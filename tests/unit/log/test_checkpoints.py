from __future__ import annotations

import pytest
from tests.support.simulated_disk import SimulatedDisk

from mainstem.log.checkpoints import RECOVERY_POINTS, parse_checkpoint, read_checkpoint, write_checkpoint
from mainstem.log.errors import LogCorrupt
from mainstem.model.ids import TopicPartition

OFFSETS = {TopicPartition("a.topic_with-all", 0): 5, TopicPartition("b", 12): 2**40}


def disk_with_folder() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_directory("/logs")
    return disk


def test_what_is_written_is_kafkas_text_and_is_read_again() -> None:
    disk = disk_with_folder()
    write_checkpoint(disk, "/logs", RECOVERY_POINTS, OFFSETS)
    raw = disk.read_file(f"/logs/{RECOVERY_POINTS}")
    assert raw == b"0\n2\na.topic_with-all 0 5\nb 12 1099511627776\n"
    assert read_checkpoint(disk, "/logs", RECOVERY_POINTS) == OFFSETS


@pytest.mark.parametrize("raw", [b"", b"0\n0\n", b"0\n0"])
def test_an_empty_checkpoint_has_no_entries(raw: bytes) -> None:
    assert parse_checkpoint(raw) == {}


@pytest.mark.parametrize(
    "raw",
    [
        b"1\n0\n",
        b"0\n2\na 0 1\n",
        b"0\n1\na 0 1\nb 0 1\n",
        b"0\n1\na 0\n",
        b"0\n1\na 0 x\n",
        b"\xff",
        b"x\n0\n",
        b"0",
    ],
)
def test_a_checkpoint_that_cannot_be_read_is_damage_and_counts_as_missing(raw: bytes) -> None:
    with pytest.raises(LogCorrupt):
        parse_checkpoint(raw)
    disk = disk_with_folder()
    disk.replace_file(f"/logs/{RECOVERY_POINTS}", raw)
    assert read_checkpoint(disk, "/logs", RECOVERY_POINTS) == {}


def test_a_missing_checkpoint_has_no_entries() -> None:
    assert read_checkpoint(disk_with_folder(), "/logs", RECOVERY_POINTS) == {}
