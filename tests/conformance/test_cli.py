"""The `mainstem` command against a real broker: what it does, prints, and how it exits."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka import Consumer
from tests.support.mainstem_command import MainstemCommand

from mainstem.cli.errors import ExitCode

from .conftest import NewName, StartBroker

Names = Callable[..., str]


@pytest.fixture
def mainstem(bootstrap: str) -> MainstemCommand:
    return MainstemCommand(bootstrap)


def wait_for(condition: Callable[[], bool], what: str, timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        time.sleep(0.1)


# --- topics


def test_the_life_of_a_topic(mainstem: MainstemCommand, new_name: NewName) -> None:
    name = new_name()
    created = mainstem.ok(
        "topic", "create", name, "--partitions", 3, "--config", "retention.ms=-1", "--json"
    ).document
    assert (created["name"], created["partitions"], created["replication_factor"]) == (name, 3, 1)
    assert created["config"] == {"retention.ms": "-1"}

    listed = mainstem.ok("topic", "list", "--json").document
    row = next(topic for topic in listed if topic["name"] == name)
    assert (row["topic_id"], row["partitions"]) == (created["topic_id"], 3)
    assert re.search(rf"^{re.escape(name)} +3 +1$", mainstem.ok("topic", "list").stdout, re.MULTILINE)

    mainstem.ok("produce", name, "--partition", 1, stdin="a\nb\n")
    (described,) = mainstem.ok("topic", "describe", name, "--json").document
    assert described["topic_id"] == created["topic_id"]
    assert described["config"] == {"retention.ms": "-1"}
    assert [part["partition"] for part in described["partitions"]] == [0, 1, 2]
    assert [part["end_offset"] for part in described["partitions"]] == [0, 2, 0]
    assert described["partitions"][1]["size_bytes"] > 0
    assert described["partitions"][1]["isr"] == described["partitions"][1]["replicas"]
    table = mainstem.ok("topic", "describe", name).lines
    assert table[0].split() == ["Topic", name]
    assert "retention.ms=-1" in table[2]

    altered = mainstem.ok(
        "topic",
        "alter",
        name,
        "--partitions",
        4,
        "--config",
        "retention.ms=60000",
        "--config",
        "segment.ms=1h",
    )
    assert "has 4 partitions now" in altered.stdout
    mainstem.ok("topic", "alter", name, "--delete-config", "segment.ms")
    (described,) = mainstem.ok("topic", "describe", name, "--json").document
    assert described["config"] == {"retention.ms": "60000"}
    assert len(described["partitions"]) == 4

    assert mainstem.ok("topic", "delete", name, "--yes").stdout == f"deleted topic {name}\n"
    assert name not in mainstem.ok("topic", "list").stdout


def test_topic_commands_that_are_refused(mainstem: MainstemCommand, new_name: NewName) -> None:
    name = new_name()
    mainstem.ok("topic", "create", name)
    for arguments, code, told in [
        (["create", name], 1, "TOPIC_ALREADY_EXISTS"),
        (["create", "a/b"], 1, "INVALID_TOPIC_EXCEPTION"),
        (["create", f"{name}-x", "--config", "retention.msx=1"], 1, "INVALID_CONFIG"),
        (["create", f"{name}-x", "--config", "retention.ms"], 2, "is not NAME=VALUE"),
        (["create", f"{name}-x", "--partitions", "0"], 2, "--partitions"),
        (["create", f"{name}-x", "--replication-factor", "9"], 1, "INVALID_REPLICATION_FACTOR"),
        (["alter", name], 2, "nothing to change"),
        (["alter", name, "--partitions", "1"], 1, "INVALID_PARTITIONS"),
        (["alter", name, "--config", "a=1", "--delete-config", "a"], 2, "both set and deleted"),
        (["alter", f"{name}-absent", "--partitions", "2"], 1, "there is no such topic"),
        (["describe", f"{name}-absent"], 1, "there is no such topic"),
        (["delete", f"{name}-absent", "--yes"], 1, "there is no such topic"),
        (["delete", name], 2, "there is nobody to ask: add --yes"),
    ]:
        done = mainstem.run("topic", *arguments)
        assert (done.code, done.stdout) == (code, ""), (arguments, done)
        assert told in done.stderr, (arguments, done.stderr)
    mainstem.ok("topic", "delete", name, "--yes")


# --- produce and consume


def test_lines_go_in_and_come_out_as_they_were(mainstem: MainstemCommand, new_topic: Names) -> None:
    topic = new_topic()
    content = b"plain\n\nwith \xff\xfe bytes\r\nlast without line feed"
    summary = mainstem.ok("produce", topic, stdin=content)
    assert summary.lines[0] == f"delivered 4 records to {topic}"
    assert summary.lines[2].split() == ["0", "4", "0", "3"]
    assert mainstem.ok("consume", topic).stdout.encode(errors="surrogateescape") == content + b"\n"


def test_keys_headers_and_nulls(mainstem: MainstemCommand, new_topic: Names) -> None:
    topic = new_topic(3)
    lines = "".join(f"h={number}|key-{number % 5}:value {number}\n" for number in range(50))
    mainstem.ok(
        "produce", topic, "--key-separator", ":", "--header-separator", "|", "--header", "by=test",
        "--null-marker", "-", stdin=lines + "|gone:-\n",
    )  # fmt: skip
    records = [json.loads(line) for line in mainstem.ok("consume", topic, "--json").lines]
    assert len(records) == 51
    places = {(record["key"], record["partition"]) for record in records}
    assert len(places) == len({key for key, _ in places})  # a key has one partition
    by_value = {record["value"]: record for record in records}
    assert by_value["value 7"]["headers"] == [["by", "test"], ["h", "7"]]
    assert by_value[None]["key"] == "gone"
    shown = mainstem.ok("consume", topic, "--fields", "key,value,headers", "--separator", ",").stdout
    assert "key-2,value 7,by=test,h=7\n" in shown


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_json_lines_lose_nothing(mainstem: MainstemCommand, new_topic: Names, codec: str) -> None:
    source, copy = new_topic(2, suffix="source"), new_topic(2, suffix="copy")
    now = int(time.time() * 1000)
    documents = [
        {"key": None, "value": None, "partition": 1, "timestamp": now},
        {"key": "k", "value": {"base64": "/wD+"}, "headers": [["h", {"base64": "gA=="}], ["h", None]]},
        {"key": {"base64": "gIA="}, "value": {"amount": 1.5, "list": [1, None]}},
        {"value": "ünïcödé \n with \t everything"},
    ]
    summary = mainstem.ok(
        "produce", source, "--json", "--compression", codec, stdin="\n".join(map(json.dumps, documents))
    ).document
    assert (summary["delivered"], summary["refused"]) == (4, 0)
    first = mainstem.ok("consume", source, "--json").stdout
    mainstem.ok("produce", copy, "--json", stdin=first)
    kept = ("key", "value", "headers", "partition", "timestamp")

    def content(topic: str) -> list[list[object]]:
        records = [json.loads(line) for line in mainstem.ok("consume", topic, "--json").lines]
        return sorted(([record[name] for name in kept] for record in records), key=repr)

    assert content(copy) == content(source)
    assert [None, None, [], 1, now] in content(source)


def test_lines_that_are_refused_are_named(mainstem: MainstemCommand, new_topic: Names) -> None:
    topic = new_topic(1, {"cleanup.policy": "compact"})
    lines = ['{"key": "a", "value": "1"}', '{"value": "no key"}', "{", '{"key": "b", "partition": 5}']
    done = mainstem.run("produce", topic, "--json", stdin="\n".join([*lines, '{"key": "c"}']))
    assert done.code == ExitCode.FAILED
    told = sorted(done.stderr.splitlines())
    assert len(told) == 3
    assert told[0].startswith("error: line 2: ")
    assert "INVALID_RECORD" in told[0]
    assert told[1].startswith("error: line 3: no JSON")
    assert told[2].startswith("error: line 4: ")
    assert (done.document["delivered"], done.document["refused"]) == (2, 3)
    keys = [json.loads(line)["key"] for line in mainstem.ok("consume", topic, "--json").lines]
    assert keys == ["a", "c"]


def test_a_record_too_large_for_the_topic_is_named_and_the_others_written(
    mainstem: MainstemCommand, new_topic: Names
) -> None:
    topic = new_topic(1, {"max.message.bytes": "10000", "retention.ms": "-1"})
    lines = [f"small {number}" for number in range(300)]
    lines[123] = "x" * 20_000
    done = mainstem.run("produce", topic, stdin="\n".join(lines))
    assert done.code == ExitCode.FAILED
    assert re.fullmatch(r"error: line 124: .*\(MESSAGE_TOO_LARGE\)\n", done.stderr)
    assert mainstem.ok("consume", topic).lines == [line for line in lines if line.startswith("small")]


def test_a_line_typed_by_hand_goes_out_at_once(mainstem: MainstemCommand, new_topic: Names) -> None:
    topic = new_topic()
    process = mainstem.start("produce", topic)
    assert process.stdin is not None
    try:
        for number in range(2):
            process.stdin.write(b"line %d\n" % number)
            process.stdin.flush()
            wait_for(lambda count=number + 1: len(mainstem.ok("consume", topic).lines) == count, "the line")
        process.stdin.write(b"and one at the end\n")
        process.stdin.flush()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == ExitCode.INTERRUPTED
    assert (stdout.splitlines()[0].decode(), stderr) == (f"delivered 3 records to {topic}", b"")
    assert len(mainstem.ok("consume", topic).lines) == 3


def test_where_to_begin(mainstem: MainstemCommand, new_topic: Names) -> None:
    topic = new_topic()
    lines = [json.dumps({"value": f"v{n}", "timestamp": 1_700_000_000_000 + 1000 * n}) for n in range(10)]
    for line in lines:
        mainstem.ok("produce", topic, "--json", stdin=line)
    for where, first in [
        ("earliest", 0),
        ("4", 4),
        ("-3", 7),
        ("1700000005000", 5),
        ("2023-11-14T22:13:25.5Z", 6),
        ("time:2023-11-14T23:13:22+01:00", 2),
        ("15m", 10),
        ("latest", 10),
    ]:
        values = mainstem.ok("consume", topic, "--from", where).lines
        assert values == [f"v{n}" for n in range(first, 10)], where


def test_following_prints_what_comes_and_control_c_ends_it_cleanly(
    mainstem: MainstemCommand, new_topic: Names, new_group: Names
) -> None:
    topic, group = new_topic(), new_group()
    mainstem.ok("produce", topic, stdin="before\n")
    process = mainstem.start("consume", topic, "--follow", "--group", group)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"before\n"
        for number in range(3):
            mainstem.ok("produce", topic, stdin=f"after {number}\n")
            assert process.stdout.readline() == b"after %d\n" % number
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, stdout, stderr) == (ExitCode.INTERRUPTED, b"", b"")
    (described,) = mainstem.ok("group", "describe", group, "--json").document
    assert described["partitions"][0]["committed_offset"] == 4


def test_a_reader_that_leaves_ends_consume_without_a_word(
    mainstem: MainstemCommand, new_topic: Names
) -> None:
    topic = new_topic()
    mainstem.ok("produce", topic, stdin="".join(f"{number:0100d}\n" for number in range(20_000)))
    process = mainstem.start("consume", topic)
    assert process.stdout is not None
    assert process.stdout.readline() == b"0" * 100 + b"\n"
    process.stdout.close()
    assert process.wait(20) == ExitCode.OK
    assert process.stderr is not None
    assert process.stderr.read() == b""


def test_a_bar_is_drawn_where_somebody_looks_and_there_is_an_end(
    mainstem: MainstemCommand, new_topic: Names, tmp_path: Path
) -> None:
    topic = new_topic()
    path = tmp_path / "lines"
    path.write_text("".join(f"{number:0100d}\n" for number in range(20_000)))

    def on_terminal(*arguments: object) -> str:
        """Runs with standard error on a terminal; what was drawn there."""
        ours, theirs = pty.openpty()
        drawn: list[bytes] = []

        def read() -> None:
            try:
                while piece := os.read(ours, 4096):
                    drawn.append(piece)
            except OSError:  # the terminal is gone with its last user
                pass

        reader = Thread(target=read)
        process = mainstem.start(
            *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs
        )
        os.close(theirs)
        reader.start()
        assert process.wait(30) == 0
        reader.join(10)
        os.close(ours)
        return b"".join(drawn).decode(errors="replace")

    assert topic[:10] in on_terminal("produce", topic, path)
    drawn = on_terminal("consume", topic)
    assert "20000/20000" in drawn.replace(" ", "")
    assert on_terminal("consume", topic, "--no-progress") == ""


def test_a_broker_that_dies_in_the_middle_costs_nothing(start_broker: StartBroker) -> None:
    broker = start_broker()
    mainstem = MainstemCommand(broker.bootstrap)
    mainstem.ok("topic", "create", "t", "--partitions", 2)
    process = mainstem.start("produce", "t")
    assert process.stdin is not None
    try:
        for number in range(300):
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            time.sleep(0.005)
            if number in (100, 200):
                broker.kill()
                broker.start()
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
    values = sorted(map(int, mainstem.ok("consume", "t").lines))
    assert values == list(range(300))


# --- groups


@pytest.fixture
def member(bootstrap: str, new_topic: Names, new_group: Names) -> Iterator[tuple[str, str, Consumer]]:
    """A topic of two partitions with ten records each, a group, and its only member, which has both."""
    topic, group = new_topic(2), new_group()
    mainstem = MainstemCommand(bootstrap)
    for number in range(2):
        mainstem.ok("produce", topic, "--partition", number, stdin="record\n" * 10)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": "the-member",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    read = 0
    deadline = time.monotonic() + 30
    while read < 20 and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        read += message is not None and message.error() is None
    assert read == 20
    yield topic, group, consumer
    consumer.close()


def test_a_group_in_use(mainstem: MainstemCommand, member: tuple[str, str, Consumer]) -> None:
    topic, group, consumer = member
    consumer.commit(asynchronous=False)
    mainstem.ok("produce", topic, "--partition", 1, stdin="more\n" * 5)

    row = next(row for row in mainstem.ok("group", "list", "--json").document if row["group"] == group)
    assert row == {"group": group, "state": "Stable", "protocol_type": "consumer"}
    assert group in mainstem.ok("group", "list", "--state", "stable").stdout
    assert group not in mainstem.ok("group", "list", "--state", "Empty").stdout

    (described,) = mainstem.ok("group", "describe", group, "--json").document
    assert (described["state"], described["assignor"], described["lag"]) == ("Stable", "range", 5)
    (only,) = described["members"]
    assert (only["client_id"], only["host"]) == ("the-member", "127.0.0.1")
    assert only["partitions"] == [{"topic": topic, "partition": number} for number in (0, 1)]
    assert [
        (row["partition"], row["committed_offset"], row["end_offset"], row["lag"], row["client_id"])
        for row in described["partitions"]
    ] == [(0, 10, 10, 0, "the-member"), (1, 10, 15, 5, "the-member")]
    text = mainstem.ok("group", "describe", group).stdout
    assert re.search(rf"{re.escape(topic)} +1 +10 +15 +5 +the-member +127\.0\.0\.1", text)

    refused = mainstem.run("group", "reset-offsets", group, "--to-earliest", "--execute")
    assert refused.code == ExitCode.FAILED
    assert f"group {group} is in use (state Stable, members the-member@127.0.0.1)" in refused.stderr
    refused = mainstem.run("group", "delete", group, "--yes")
    assert refused.code == ExitCode.FAILED
    assert "NON_EMPTY_GROUP" in refused.stderr
    refused = mainstem.run("consume", topic, "--group", group, "--from", "earliest")
    assert refused.code == ExitCode.FAILED
    assert "stop them first" in refused.stderr or "in use by its members" in refused.stderr


def test_moving_and_deleting_a_group(mainstem: MainstemCommand, new_topic: Names, new_group: Names) -> None:
    topic, other, group = new_topic(2, suffix="a"), new_topic(1, suffix="b"), new_group()
    for number in range(2):
        lines = [
            json.dumps({"value": f"{n}", "timestamp": 1_700_000_000_000 + n, "partition": number})
            for n in range(10)
        ]
        mainstem.ok("produce", topic, "--json", stdin="\n".join(lines))
    mainstem.ok("consume", topic, "--group", group)

    def committed() -> list[int]:
        (described,) = mainstem.ok("group", "describe", group, "--json").document
        return [row["committed_offset"] for row in described["partitions"]]

    assert committed() == [10, 10]
    planned = mainstem.ok("group", "reset-offsets", group, "--to-earliest")
    assert planned.lines[0].split() == ["TOPIC", "PARTITION", "COMMITTED", "NEW"]
    assert planned.lines[1].split() == [topic, "0", "10", "0"]
    assert "nothing was changed: add --execute" in planned.stderr
    assert committed() == [10, 10]

    for arguments, expected in [
        (["--to-earliest"], [0, 0]),
        (["--to-latest"], [10, 10]),
        (["--to-offset", 4], [4, 4]),
        (["--shift-by", 3, "--topic", f"{topic}:1"], [4, 7]),
        (["--shift-by", -100], [0, 0]),
        (["--to-timestamp", "1700000000006"], [6, 6]),
        (["--to-timestamp", "5m"], [10, 10]),
        (["--to-offset", 99, "--topic", topic], [10, 10]),
    ]:
        done = mainstem.ok("group", "reset-offsets", group, *arguments, "--execute", "--json").document
        assert done["is_executed"] is True
        assert committed() == expected, arguments

    for arguments, code, told in [
        ([], 2, "say where to, once"),
        (["--to-earliest", "--to-latest"], 2, "say where to, once"),
        (["--to-latest", "--topic", f"{topic}:x"], 2, "is not TOPIC or TOPIC:0,1,2"),
        (["--to-latest", "--topic", f"{topic}:7"], 1, "partitions 0 to 1"),
        (["--to-latest", "--topic", "absent"], 1, "there is no such topic"),
        (["--shift-by", 1, "--topic", other], 1, "has committed nothing for"),
    ]:
        done = mainstem.run("group", "reset-offsets", group, *arguments)
        assert (done.code, told in done.stderr) == (code, True), (arguments, done)
    nothing = mainstem.run("group", "reset-offsets", new_group("new"), "--to-latest")
    assert (nothing.code, "name topics with --topic" in nothing.stderr) == (1, True)

    assert mainstem.run("group", "delete", group).code == ExitCode.USAGE
    assert mainstem.ok("group", "delete", group, "--yes").stdout == f"deleted group {group}\n"
    gone = mainstem.run("group", "describe", group)
    assert (gone.code, "GROUP_ID_NOT_FOUND" in gone.stderr) == (1, True)
    assert mainstem.run("group", "delete", group, "--yes").code == ExitCode.FAILED


def test_a_group_whose_topic_is_gone_is_still_described(
    mainstem: MainstemCommand, new_topic: Names, new_group: Names
) -> None:
    kept, gone, group = new_topic(suffix="kept"), new_topic(suffix="gone"), new_group()
    for topic in (kept, gone):
        mainstem.ok("produce", topic, stdin="x\n")
        mainstem.ok("consume", topic, "--group", group)
    mainstem.ok("topic", "delete", gone, "--yes")
    (described,) = mainstem.ok("group", "describe", group, "--json").document
    rows = {row["topic"]: (row["committed_offset"], row["lag"]) for row in described["partitions"]}
    assert rows[kept] == (1, 0)
    assert rows.get(gone, (1, None)) == (1, None)  # or the broker dropped it with the topic


# --- files


def test_the_files_of_a_broker_are_whole_and_readable(start_broker: StartBroker) -> None:
    broker = start_broker({"acks.after": "disk", "log.segment.bytes": "1048576"})
    mainstem = MainstemCommand(broker.bootstrap)
    mainstem.ok("topic", "create", "t", "--partitions", 2)
    mainstem.ok("produce", "t", "--compression", "lz4", stdin=os.urandom(2_000_000).hex("\n", 50))
    mainstem.ok("consume", "t", "--group", "g")
    offsets = {
        part["partition"]: part["end_offset"]
        for part in mainstem.ok("topic", "describe", "t", "--json").document[0]["partitions"]
    }
    broker.kill()
    log_directory = broker.data_dir / "logs"
    assert log_directory.is_dir(), list(broker.data_dir.iterdir())
    pieces = sorted(log_directory.glob("mainstem-journal-*"))
    kinds = {json.loads(line)["kind"] for line in mainstem.ok("log", "dump", *pieces, "--json").lines}
    assert {"round", "append"} <= kinds
    mainstem.ok("log", "verify", log_directory)

    broker.start()
    assert broker.stop() == 0
    document = mainstem.ok("log", "verify", log_directory, "--json").document
    assert document["is_damaged"] is False
    assert document["segments"] > document["partitions"]
    records = [
        json.loads(line)
        for line in mainstem.ok("log", "dump", log_directory / "t-0", "--records", "--json").lines
        if '"kind":"record"' in line
    ]
    assert [record["offset"] for record in records] == list(range(offsets[0]))

    decoded = [
        entry["decoded"]
        for folder in log_directory.glob("__consumer_offsets-*")
        for entry in map(json.loads, mainstem.ok("log", "dump", folder, "--offsets", "--json").lines)
        if entry["kind"] == "record"
    ]
    commits = {
        (entry["key"]["topic"], entry["key"]["partition"]): entry["value"]["offset"]
        for entry in decoded
        if entry["kind"] == "offset-commit"
    }
    assert commits == {("t", number): end for number, end in offsets.items()}

    segment = sorted((log_directory / "t-1").glob("*.log"))[0]
    content = bytearray(segment.read_bytes())
    content[100] ^= 1
    segment.write_bytes(content)
    for arguments in (["verify", log_directory], ["dump", segment]):
        done = mainstem.run("log", *arguments)
        assert done.code == ExitCode.FAILED
        assert f"{segment} at position 0" in done.stderr or "the batch at 0 is wrong" in done.stderr


# --- the broker is not there


@pytest.mark.parametrize(
    "arguments",
    [["topic", "list"], ["produce", "t"], ["consume", "t"], ["group", "list"], ["group", "describe", "g"]],
)
def test_without_a_broker_every_command_says_so(arguments: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    done = MainstemCommand(f"127.0.0.1:{port}").run(*arguments)
    assert (done.code, done.stdout) == (ExitCode.UNREACHABLE, "")
    assert done.stderr.startswith(f"error: cannot reach a broker at 127.0.0.1:{port}: connection refused.")
    assert "mainstem start" in done.stderr
