"""`mainstem produce` and `mainstem consume` against brokers that do as the test says."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.fake_cluster import FETCH, PRODUCE, Answer, FakeCluster, lose_answer

from mainstem.cli.errors import ExitCode
from mainstem.cli.main import command
from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord, build_batch
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

PLACE = TopicPartition("t", 0)


def run(fake: FakeCluster, *arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(command, [*map(str, arguments), "--bootstrap", fake.bootstrap])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


# --- produce


def test_lines_of_a_file_are_delivered_in_order(tmp_path: Path) -> None:
    with FakeCluster() as fake:
        lines = [f"line {number}" for number in range(5000)]
        fake.script(PRODUCE, lose_answer)
        code, stdout, stderr = run(fake, "produce", "t", written(tmp_path / "in", *lines))
        assert (code, stderr) == (0, "")
        assert fake.values() == [line.encode() for line in lines]
        assert stdout.splitlines()[0] == "delivered 5000 records to t"
        assert stdout.splitlines()[-1].split() == ["0", "5000", "0", "4999"]


def test_bad_lines_are_named_and_the_others_delivered(tmp_path: Path) -> None:
    with FakeCluster(topics={"t": 2}) as fake:
        lines = [
            '{"value": "a", "partition": 0}',
            "no json",
            '{"value": "b", "partition": 7}',
            '{"value": "c", "partition": 0}',
        ]
        code, stdout, stderr = run(fake, "produce", "t", "--json", written(tmp_path / "in", *lines))
        assert code == ExitCode.FAILED
        assert fake.values() == [b"a", b"c"]
        first, second = stderr.splitlines()
        assert first.startswith("error: line 2: no JSON")
        assert second.startswith("error: line 3: partition t-7: the topic has partitions 0 to 1")
        assert json.loads(stdout) == {
            "topic": "t",
            "delivered": 2,
            "refused": 2,
            "is_confirmed": True,
            "partitions": [{"partition": 0, "records": 2, "first_offset": 0, "last_offset": 1}],
        }


def test_records_that_the_broker_refuses_are_named_by_their_lines(tmp_path: Path) -> None:
    def refuse(_request: Any, _answer: Answer) -> Message:
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name="t", partition_responses=[PartitionProduceResponse(index=0, error_code=29)]
                )
            ]
        )

    with FakeCluster() as fake:
        fake.script(PRODUCE, refuse)
        lines = [f"{number}" for number in range(50)]
        code, stdout, stderr = run(fake, "produce", "t", written(tmp_path / "in", *lines))
        assert code == ExitCode.FAILED
        told = stderr.splitlines()
        assert (
            told[0]
            == "error: line 1: partition t-0: no permission for this topic (TOPIC_AUTHORIZATION_FAILED)"
        )
        assert len(told) == 21
        assert told[-1] == "error: 30 more lines were refused"
        assert stdout == "delivered 0 records to t; 50 refused\n"


def test_without_a_confirmation_none_is_claimed(tmp_path: Path) -> None:
    with FakeCluster() as fake:
        code, stdout, _ = run(fake, "produce", "t", "--acks", "0", written(tmp_path / "in", "a"))
        assert (code, stdout) == (0, "sent, without a confirmation, 1 record to t\n")


def test_a_broker_that_is_gone_fails_the_lines_after_the_time_limit(tmp_path: Path) -> None:
    with FakeCluster() as fake:

        def die(_request: Any, _answer: Answer) -> None:
            fake.brokers[0].stop()

        fake.script(PRODUCE, die)
        code, stdout, stderr = run(fake, "produce", "t", "--timeout", "0.5", written(tmp_path / "in", "a"))
        assert code == ExitCode.FAILED
        assert "error: line 1: not confirmed within 0.5 s" in stderr
        assert stdout == "delivered 0 records to t; 1 refused\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--json", "--key-separator", ":"], "--key-separator is for plain lines"),
        (["--key-separator", ""], "--key-separator: is empty"),
        (["--header", "x"], "is not NAME=VALUE"),
        (["--compression", "brotli"], "brotli"),
        (["--acks", "2"], "--acks"),
        (["--timeout", "0"], "--timeout"),
    ],
)
def test_wrong_usage_of_produce(tmp_path: Path, options: list[str], told: str) -> None:
    with FakeCluster() as fake:
        code, _, stderr = run(fake, "produce", "t", written(tmp_path / "in", "a"), *options)
        assert code == ExitCode.USAGE
        assert told in stderr
        assert fake.values() == []


# --- consume


def fill(fake: FakeCluster, count: int, place: TopicPartition = PLACE) -> None:
    for number in range(count):
        record = NewRecord(b"k%d" % number, b"v%d" % number, ((b"h", b"1"),), 1_000 + number)
        fake.partitions[place].append(build_batch([record]))


def test_values_are_printed_to_the_end_that_was_there_at_the_start() -> None:
    with FakeCluster() as fake:
        fill(fake, 3)
        assert run(fake, "consume", "t") == (0, "v0\nv1\nv2\n", "")
        assert run(fake, "consume", "t", "--max", "2") == (0, "v0\nv1\n", "")
        assert run(fake, "consume", "t", "--from", "latest") == (0, "", "")
        assert run(fake, "consume", "t", "--from", "-1") == (0, "v2\n", "")
        assert run(fake, "consume", "t", "--from", "offset:1") == (0, "v1\nv2\n", "")
        assert run(fake, "consume", "t", "--from", "time:1970-01-01T00:00:01.002") == (0, "v2\n", "")
        assert run(fake, "consume", "t", "--from", "2026-11-19") == (0, "", "")


def test_fields_formats_and_json() -> None:
    with FakeCluster() as fake:
        fill(fake, 1)
        assert run(fake, "consume", "t", "--fields", "offset,key,value,headers")[1] == "0\tk0\tv0\th=1\n"
        assert run(fake, "consume", "t", "--fields", "key,value", "--separator", "|")[1] == "k0|v0\n"
        assert run(fake, "consume", "t", "--format", "{key}={value};")[1] == "k0=v0;"
        _, stdout, _ = run(fake, "consume", "t", "--json")
        assert json.loads(stdout)["headers"] == [["h", "1"]]


def test_one_partition_of_several() -> None:
    with FakeCluster(topics={"t": 3}) as fake:
        for number in range(3):
            fill(fake, number + 1, TopicPartition("t", number))
        _, stdout, _ = run(fake, "consume", "t", "--partition", "2", "--fields", "partition,value")
        assert stdout == "2\tv0\n2\tv1\n2\tv2\n"
        code, _, stderr = run(fake, "consume", "t", "--partition", "3")
        assert code == ExitCode.FAILED
        assert "the topic has partitions 0 to 2" in stderr


def test_a_place_outside_the_partition_is_moved_into_it_with_a_warning() -> None:
    with FakeCluster() as fake:
        fill(fake, 3)
        part = fake.partitions[PLACE]
        part.start_offset, part.batches = 1, part.batches[1:]
        code, stdout, stderr = run(fake, "consume", "t", "--from", "0")
        assert (code, stdout) == (0, "v1\nv2\n")
        assert "warning: t-0 begins at offset 1: 0 is no longer there" in stderr
        code, stdout, stderr = run(fake, "consume", "t", "--from", "9")
        assert (code, stdout) == (0, "")
        assert "warning: t-0 ends at offset 3, before 9" in stderr


def test_a_group_goes_on_where_it_stopped() -> None:
    with FakeCluster() as fake:
        fill(fake, 3)
        assert run(fake, "consume", "t", "--group", "g", "--max", "2")[1] == "v0\nv1\n"
        assert fake.committed == {PLACE: 2}
        assert run(fake, "consume", "t", "--group", "g", "--no-commit")[1] == "v2\n"
        assert fake.committed == {PLACE: 2}
        assert run(fake, "consume", "t", "--group", "g")[1] == "v2\n"
        assert fake.committed == {PLACE: 3}
        assert run(fake, "consume", "t", "--group", "g", "--from", "earliest", "--max", "1")[1] == "v0\n"
        assert fake.committed == {PLACE: 1}


def test_what_came_before_a_damaged_batch_is_printed_and_committed() -> None:
    with FakeCluster() as fake:
        fill(fake, 3)
        batches = fake.partitions[PLACE].batches
        batches[2] = batches[2][:-1] + b"\xff"
        code, stdout, stderr = run(fake, "consume", "t", "--group", "g")
        assert (code, stdout) == (ExitCode.FAILED, "v0\nv1\n")
        assert stderr.startswith("error: t-0: the batch at offset 2 is damaged")
        assert fake.committed == {PLACE: 2}


def test_control_c_while_following_commits_and_ends_as_shells_say(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeCluster() as fake:
        fill(fake, 3)

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        fake.script(FETCH, lambda _request, answer: answer(), lambda _request, answer: answer())
        monkeypatch.setattr("mainstem.cli.progress.ProgressBar.show", interrupt)
        code, stdout, stderr = run(fake, "consume", "t", "--follow", "--group", "g")
        assert (code, stdout, stderr) == (ExitCode.INTERRUPTED, "v0\nv1\nv2\n", "")
        assert fake.committed == {PLACE: 3}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--json", "--fields", "key"], "choose one"),
        (["--fields", "colour"], "no field 'colour'; there are topic, partition"),
        (["--from", "sometime"], "is no point in time"),
        (["--no-commit"], "--no-commit is for --group"),
        (["--max", "0"], "--max"),
        (["--format", "{x}"], "no field 'x'"),
    ],
)
def test_wrong_usage_of_consume(options: list[str], told: str) -> None:
    with FakeCluster() as fake:
        code, _, stderr = run(fake, "consume", "t", *options)
        assert code == ExitCode.USAGE
        assert told in stderr


def test_a_topic_that_is_not_there() -> None:
    with FakeCluster() as fake:
        for name in ("produce", "consume"):
            code, stdout, stderr = run(fake, name, "absent")
            assert (code, stdout) == (ExitCode.FAILED, "")
            assert stderr.startswith("error: topic absent: there is no such topic")


def test_no_broker_there() -> None:
    result = CliRunner().invoke(command, ["consume", "t", "--bootstrap", "127.0.0.1:1"])
    assert result.exit_code == ExitCode.UNREACHABLE
    assert "connection refused" in result.stderr
    result = CliRunner().invoke(command, ["consume", "t", "--bootstrap", "127.0.0.1:port"])
    assert result.exit_code == ExitCode.USAGE
