"""`mainstem log list` says of a compacted log what the cleaner goes by; `verify` finds no fault in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from tests.support.compaction import compact, measured, put
from tests.support.logs import new_log

from mainstem.cli.errors import ExitCode
from mainstem.cli.main import command
from mainstem.config.topic_options import TopicConfig
from mainstem.log.checkpoints import CLEANED, LOG_STARTS, write_checkpoint
from mainstem.ports.disk import RealDisk

COMPACT = TopicConfig(cleanup_policy=frozenset({"compact"}), index_interval_bytes=200)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, ["log", *arguments])
    return result.exit_code, result.output


def rows(path: Path) -> list[dict[str, Any]]:
    code, output = run("list", str(path), "--json")
    assert code == ExitCode.OK
    found: list[dict[str, Any]] = json.loads(output)
    return found


def test_the_dirty_share_is_the_one_that_the_cleaner_goes_by(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), COMPACT)
    for number in range(50):
        put(log, (b"%d" % (number % 20), b"value" * 20), (b"tombstone", None))
    [row] = rows(tmp_path)
    assert (row["partition"], row["segments"], row["size_bytes"]) == ("t-0", 1, log.size_bytes)
    assert row["dirty_percent"] is None
    compact(log)
    write_checkpoint(RealDisk(), str(tmp_path), CLEANED, {log.topic_partition: log.first_dirty_offset})
    write_checkpoint(RealDisk(), str(tmp_path), LOG_STARTS, {log.topic_partition: 3})
    [row] = rows(tmp_path)
    assert (row["first_dirty_offset"], row["dirty_bytes"], row["dirty_percent"]) == (100, 0, 0)
    assert (row["log_start_offset"], row["active_base_offset"]) == (3, 100)
    for _ in range(30):
        put(log, (b"again", b"value" * 20))
    log.roll()
    log.flush()
    for path in (tmp_path, tmp_path / "t-0"):
        [row] = rows(path)
        assert row["dirty_bytes"] == measured(log).cleanable_bytes > 0
        assert row["dirty_percent"] == round(100 * measured(log).dirty_ratio)
    code, table = run("list", str(tmp_path))
    assert code == ExitCode.OK
    assert "DIRTY %" in table
    assert f"{row['dirty_percent']}" in table

    log.close()
    code, output = run("verify", str(tmp_path))
    assert (code, output.count("no damage")) == (ExitCode.OK, 1), output


def test_a_folder_without_partitions_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    code, output = run("list", str(tmp_path))
    assert code == ExitCode.USAGE
    assert "holds no partitions" in output
