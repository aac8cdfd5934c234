"""The command-line tools that come with Apache Kafka, run as they are against the broker."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.conformance.conftest import StartBroker
from tests.support import jvm
from tests.support.deadline import eventually
from tests.support.kafka_tools import MAIN_CLASSES, KafkaTools, ToolRun

pytestmark = pytest.mark.xdist_group("kafka-tools")

Fresh = Callable[[str], str]


class Shell:
    """The tools, each pointed at the broker."""

    def __init__(self, tools: KafkaTools, bootstrap: str) -> None:
        self._tools = tools
        self.bootstrap = bootstrap
        self._server = ("--bootstrap-server", bootstrap)

    def run(self, tool: str, *arguments: str, stdin: str = "") -> ToolRun:
        return self._tools.run(tool, *self._server, *arguments, stdin=stdin)

    def __call__(self, tool: str, *arguments: str, stdin: str = "") -> str:
        """What the tool printed; a failure of the tool fails the test."""
        return self._tools.output(tool, *self._server, *arguments, stdin=stdin)

    def without_server(self, tool: str, *arguments: str) -> str:
        """Of a tool that takes its server among other properties."""
        return self._tools.output(tool, *arguments)

    def make_topic(self, topic: str, partitions: int = 1, *arguments: str) -> str:
        self("kafka-topics", "--create", "--topic", topic, "--partitions", str(partitions), *arguments)
        return topic

    def produce(self, topic: str, lines: list[str], *arguments: str) -> None:
        text = "".join(f"{line}\n" for line in lines)
        self("kafka-console-producer", "--topic", topic, *arguments, stdin=text)

    def consume(self, topic: str, count: int, *arguments: str) -> list[str]:
        limits = ("--max-messages", str(count), "--timeout-ms", "20000")
        return self("kafka-console-consumer", "--topic", topic, *limits, *arguments).splitlines()


@pytest.fixture
def shell(kafka_tools: KafkaTools, bootstrap: str) -> Shell:
    return Shell(kafka_tools, bootstrap)


def rows(table: str) -> list[dict[str, str]]:
    """The rows of a table as the tools print it, by column; warnings above it are left out."""
    told = [line.strip() for line in table.splitlines()]
    lines = [re.split(r"\s+", line) for line in told if line and not line.startswith("Warn")]
    heads = lines[0]
    return [dict(zip(heads, line, strict=True)) for line in lines[1:]]


class TestTopics:
    def test_create_and_describe(self, shell: Shell, fresh: Fresh) -> None:
        topic = fresh("described")
        created = shell.make_topic(topic, 3, "--config", "retention.ms=900000", "--replication-factor", "1")
        text = shell("kafka-topics", "--describe", "--topic", created)
        head, *partitions = text.splitlines()
        assert re.search(rf"Topic: {topic}\tTopicId: \S{{22}}\tPartitionCount: 3\tReplicationFactor: 1", head)
        assert "retention.ms=900000" in head
        assert len(partitions) == 3
        for number, line in enumerate(partitions):
            assert f"Partition: {number}\tLeader: 1\tReplicas: 1\tIsr: 1" in line

    def test_describe_filters(self, shell: Shell, fresh: Fresh) -> None:
        topic = shell.make_topic(fresh("filtered"), 2, "--config", "segment.ms=77777777")
        assert topic in shell("kafka-topics", "--describe", "--topics-with-overrides", "--topic", topic)
        for trouble in ("under-replicated", "unavailable", "under-min-isr"):
            flag = f"--{trouble}-partitions"
            assert shell("kafka-topics", "--describe", flag, "--topic", topic).strip() == ""

    def test_list_hides_internal_topics_on_demand(self, shell: Shell, fresh: Fresh) -> None:
        topic = shell.make_topic(fresh("listed"))
        shell.produce(topic, ["one"])
        shell.consume(topic, 1, "--from-beginning", "--group", fresh("makes-offsets-topic"))
        assert {topic, "__consumer_offsets"} <= set(shell("kafka-topics", "--list").splitlines())
        visible = shell("kafka-topics", "--list", "--exclude-internal").splitlines()
        assert topic in visible
        assert "__consumer_offsets" not in visible

    def test_alter_adds_partitions(self, shell: Shell, fresh: Fresh) -> None:
        topic = shell.make_topic(fresh("grown"), 2)
        shell("kafka-topics", "--alter", "--topic", topic, "--partitions", "4")
        assert "PartitionCount: 4" in shell("kafka-topics", "--describe", "--topic", topic)
        refused = shell.run("kafka-topics", "--alter", "--topic", topic, "--partitions", "3")
        assert refused.exit_code == 1
        assert "4 partition" in refused.out

    def test_create_again_is_refused(self, shell: Shell, fresh: Fresh) -> None:
        topic = shell.make_topic(fresh("twice"))
        refused = shell.run("kafka-topics", "--create", "--topic", topic)
        assert refused.exit_code == 1
        assert "already exists" in refused.out
        shell("kafka-topics", "--create", "--if-not-exists", "--topic", topic)

    def test_delete(self, shell: Shell, fresh: Fresh) -> None:
        topic = shell.make_topic(fresh("deleted"), 2)
        shell("kafka-topics", "--delete", "--topic", topic)
        assert topic not in shell("kafka-topics", "--list").splitlines()
        assert shell.run("kafka-topics", "--delete", "--topic", topic).exit_code == 1
        shell("kafka-topics", "--delete", "--if-exists", "--topic", topic)


class TestConsole:
    KEYS_AND_HEADERS = tuple(
        argument
        for setting in ("parse.key=true", "key.separator=|", "parse.headers=true", "headers.delimiter=~")
        for argument in ("--reader-property", setting)
    )
    PRINT_ALL = tuple(
        argument
        for part in ("key", "headers", "partition", "offset")
        for argument in ("--formatter-property", f"print.{part}=true")
    )

    def test_keys_and_headers_come_back(self, shell: Shell, fresh: Fresh) -> None:
        topic = shell.make_topic(fresh("console"))
        lines = [f"h1:v{number},h2:x~key {number}|value {number}" for number in range(20)]
        shell.produce(topic, lines, *self.KEYS_AND_HEADERS)
        assert shell.consume(topic, 20, "--from-beginning", *self.PRINT_ALL) == [
            f"Partition:0\tOffset:{number}\th1:v{number},h2:x\tkey {number}\tvalue {number}"
            for number in range(20)
        ]

    @pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
    def test_codecs(self, shell: Shell, fresh: Fresh, codec: str) -> None:
        topic = shell.make_topic(fresh(f"console-{codec}"))
        lines = [f"a line that repeats itself, number {number}" for number in range(100)]
        shell.produce(topic, lines, "--compression-codec", codec)
        assert shell.consume(topic, 100, "--from-beginning") == lines

    def test_from_an_offset(self, shell: Shell, fresh: Fresh) -> None:
        topic = shell.make_topic(fresh("console-offset"))
        shell.produce(topic, ["zero", "one", "two"], "--sync")
        assert shell.consume(topic, 2, "--partition", "0", "--offset", "1") == ["one", "two"]

    def test_committed_records_only(self, shell: Shell, fresh: Fresh) -> None:
        topic = shell.make_topic(fresh("console-committed"))
        shell.produce(topic, ["plain"])
        assert shell.consume(topic, 1, "--from-beginning", "--isolation-level", "read_committed") == ["plain"]

    def test_several_topics_by_pattern(self, shell: Shell, fresh: Fresh) -> None:
        topics = [shell.make_topic(fresh(f"console-many-{number}")) for number in (1, 2)]
        for topic in topics:
            shell.produce(topic, [f"in {topic}"])
        pattern = fresh("console-many-.*")
        read = shell(
            "kafka-console-consumer",
            *("--include", pattern, "--from-beginning", "--max-messages", "2", "--timeout-ms", "20000"),
        )
        assert sorted(read.splitlines()) == [f"in {topic}" for topic in topics]


class TestGroups:
    @pytest.fixture
    def group(self, shell: Shell, fresh: Fresh) -> tuple[str, str]:
        """A group that has read ten of ten records from a topic of one partition."""
        topic, group = shell.make_topic(fresh("grouped")), fresh("group")
        shell.produce(topic, [f"record {number}" for number in range(10)])
        shell.consume(topic, 10, "--from-beginning", "--group", group)
        return topic, group

    def test_list(self, shell: Shell, group: tuple[str, str]) -> None:
        assert group[1] in shell("kafka-consumer-groups", "--list").splitlines()
        states = {
            row["GROUP"]: row["STATE"] for row in rows(shell("kafka-consumer-groups", "--list", "--state"))
        }
        assert states[group[1]] == "Empty"
        listed = shell("kafka-groups", "--list")
        assert re.search(rf"^{group[1]} +Classic +consumer", listed, re.MULTILINE)

    def test_describe_offsets_and_state(self, shell: Shell, group: tuple[str, str]) -> None:
        topic, name = group
        shell.produce(topic, ["one more"])
        (row,) = rows(shell("kafka-consumer-groups", "--describe", "--group", name))
        assert (row["TOPIC"], row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"]) == (
            topic,
            "10",
            "11",
            "1",
        )
        state = shell("kafka-consumer-groups", "--describe", "--state", "--group", name)
        assert re.search(rf"^{name} +\S+ +\(1\) +- +Empty +0", state, re.MULTILINE)

    @pytest.mark.parametrize(
        ("where", "offset"),
        [
            (("--to-earliest",), "0"),
            (("--to-latest",), "10"),
            (("--to-offset", "4"), "4"),
            (("--shift-by", "-3"), "7"),
            (("--by-duration", "PT1H"), "0"),
            (("--to-datetime", "2001-01-01T00:00:00.000"), "0"),
            (("--to-datetime", "2101-01-01T00:00:00.000"), "10"),
        ],
    )
    def test_reset_offsets(
        self, shell: Shell, group: tuple[str, str], where: tuple[str, ...], offset: str
    ) -> None:
        topic, name = group
        scope = ("--reset-offsets", "--group", name, "--topic", topic)
        (planned,) = rows(shell("kafka-consumer-groups", *scope, *where, "--dry-run"))
        assert planned["NEW-OFFSET"] == offset
        (before,) = rows(shell("kafka-consumer-groups", "--describe", "--group", name))
        assert before["CURRENT-OFFSET"] == "10"
        shell("kafka-consumer-groups", *scope, *where, "--execute")
        (after,) = rows(shell("kafka-consumer-groups", "--describe", "--group", name))
        assert after["CURRENT-OFFSET"] == offset

    def test_reset_moves_what_the_group_reads_next(self, shell: Shell, group: tuple[str, str]) -> None:
        topic, name = group
        scope = ("--reset-offsets", "--group", name, "--topic", topic)
        shell("kafka-consumer-groups", *scope, "--to-offset", "8", "--execute")
        assert shell.consume(topic, 2, "--group", name) == ["record 8", "record 9"]

    def test_delete_offsets_and_group(self, shell: Shell, group: tuple[str, str]) -> None:
        topic, name = group
        deleted = shell("kafka-consumer-groups", "--delete-offsets", "--group", name, "--topic", topic)
        assert "Successful" in deleted
        assert "was successful" in shell("kafka-consumer-groups", "--delete", "--group", name)
        assert name not in shell("kafka-consumer-groups", "--list").splitlines()
        assert "GroupIdNotFoundException" in shell("kafka-consumer-groups", "--delete", "--group", name)


class TestConfigs:
    def test_topic(self, shell: Shell, fresh: Fresh) -> None:
        topic = shell.make_topic(fresh("configured"))
        of_topic = ("--topic", topic)
        options = "retention.ms=1000000,cleanup.policy=[compact,delete]"
        shell("kafka-configs", "--alter", *of_topic, "--add-config", options)
        described = shell("kafka-configs", "--describe", *of_topic)
        assert "retention.ms=1000000 sensitive=false" in described
        assert "cleanup.policy=compact,delete" in described
        shell("kafka-configs", "--alter", *of_topic, "--delete-config", "retention.ms")
        assert "retention.ms" not in shell("kafka-configs", "--describe", *of_topic)
        all_options = shell("kafka-configs", "--describe", "--all", *of_topic)
        assert "DEFAULT_CONFIG:log.segment.bytes=1073741824" in all_options
        assert "retention.ms=604800000" in all_options

    def test_refusals_say_why(self, shell: Shell, fresh: Fresh) -> None:
        topic = shell.make_topic(fresh("misconfigured"))
        alter = ("--alter", "--topic", topic, "--add-config")
        unknown = shell.run("kafka-configs", *alter, "no.such.option=1")
        assert unknown.exit_code != 0
        assert "no.such.option" in unknown.out + unknown.err
        wrong = shell.run("kafka-configs", *alter, "retention.ms=soon")
        assert wrong.exit_code != 0
        assert "retention.ms" in wrong.out + wrong.err

    def test_broker(self, shell: Shell) -> None:
        described = shell("kafka-configs", "--describe", "--broker", "1", "--all")
        assert re.search(r"^ +log\.segment\.bytes=1073741824 ", described, re.MULTILINE)
        assert re.search(r"^ +node\.id=1 ", described, re.MULTILINE)

    def test_all_brokers(self, shell: Shell) -> None:
        scope = ("--broker-defaults",)
        shell("kafka-configs", "--alter", *scope, "--add-config", "log.segment.delete.delay.ms=61000")
        assert "log.segment.delete.delay.ms=61000" in shell("kafka-configs", "--describe", *scope)
        shell("kafka-configs", "--alter", *scope, "--delete-config", "log.segment.delete.delay.ms")
        assert "log.segment.delete.delay.ms" not in shell("kafka-configs", "--describe", *scope)


class TestPartitions:
    @pytest.fixture
    def topic(self, shell: Shell, fresh: Fresh, bootstrap: str) -> str:
        """Three partitions with 7, 0 and 3 records."""
        topic = shell.make_topic(fresh("partitions"), 3)
        producer = Producer({"bootstrap.servers": bootstrap})
        for partition, count in ((0, 7), (2, 3)):
            for number in range(count):
                producer.produce(topic, f"{number}".encode(), partition=partition)
        assert producer.flush(20) == 0
        return topic

    def offsets(self, shell: Shell, topic: str, *arguments: str) -> dict[int, int]:
        lines = shell("kafka-get-offsets", "--topic", topic, *arguments).splitlines()
        return {int(partition): int(offset) for _, partition, offset in (line.split(":") for line in lines)}

    @pytest.mark.parametrize(
        ("when", "expected"),
        [
            ("latest", {0: 7, 1: 0, 2: 3}),
            ("earliest", {0: 0, 1: 0, 2: 0}),
            ("-1", {0: 7, 1: 0, 2: 3}),
            ("-2", {0: 0, 1: 0, 2: 0}),
            ("-4", {0: 0, 1: 0, 2: 0}),
            ("-5", {}),
            ("0", {0: 0, 2: 0}),
        ],
    )
    def test_offsets(self, shell: Shell, topic: str, when: str, expected: dict[int, int]) -> None:
        assert self.offsets(shell, topic, "--time", when) == expected

    def test_offset_of_the_newest_timestamp(self, shell: Shell, topic: str) -> None:
        newest = self.offsets(shell, topic, "--time", "max-timestamp")
        assert set(newest) == {0, 2}
        assert 0 <= newest[0] < 7

    def test_offsets_of_some_partitions(self, shell: Shell, topic: str) -> None:
        assert self.offsets(shell, topic, "--partitions", "0,1") == {0: 7, 1: 0}

    def test_log_dirs(self, shell: Shell, topic: str) -> None:
        *_, described = shell("kafka-log-dirs", "--describe", "--topic-list", topic).splitlines()
        (broker,) = json.loads(described)["brokers"]
        directories = broker["logDirs"]
        assert all(directory["error"] is None for directory in directories)
        sizes = {p["partition"]: p["size"] for directory in directories for p in directory["partitions"]}
        assert set(sizes) == {f"{topic}-{number}" for number in range(3)}
        assert sizes[f"{topic}-0"] > sizes[f"{topic}-2"] > sizes[f"{topic}-1"] == 0

    def test_delete_records(self, shell: Shell, topic: str, tmp_path: Path) -> None:
        wanted = tmp_path / "offsets.json"
        partitions = [
            {"topic": topic, "partition": 0, "offset": 5},
            {"topic": topic, "partition": 2, "offset": -1},
        ]
        wanted.write_text(json.dumps({"partitions": partitions, "version": 1}))
        deleted = shell("kafka-delete-records", "--offset-json-file", str(wanted))
        assert f"partition: {topic}-0\tlow_watermark: 5" in deleted
        assert f"partition: {topic}-2\tlow_watermark: 3" in deleted
        assert self.offsets(shell, topic, "--time", "earliest") == {0: 5, 1: 0, 2: 3}
        assert shell.consume(topic, 2, "--from-beginning") == ["5", "6"]

    def test_leader_election(self, shell: Shell, topic: str) -> None:
        elect = ("--election-type", "preferred")
        one = shell("kafka-leader-election", *elect, "--topic", topic, "--partition", "0")
        assert f"Valid replica already elected for partitions {topic}-0" in one
        shell("kafka-leader-election", *elect, "--all-topic-partitions")

    def test_reassignments(self, shell: Shell) -> None:
        assert "No partition reassignments found." in shell("kafka-reassign-partitions", "--list")


class TestVerifiableClients:
    """These two end with their process, not by themselves, so they get one of their own."""

    def events(self, tool: str, *arguments: str) -> list[dict[str, Any]]:
        done = jvm.java("kafka-server", MAIN_CLASSES[tool], *arguments)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_everything_acknowledged_is_read(self, shell: Shell, bootstrap: str, fresh: Fresh) -> None:
        topic, group = shell.make_topic(fresh("verifiable"), 2), fresh("verifiable-group")
        common = ("--bootstrap-server", bootstrap, "--topic", topic, "--max-messages", "500")
        written = self.events("kafka-verifiable-producer", *common, "--throughput", "-1")
        assert sum(event["name"] == "producer_send_success" for event in written) == 500
        read = self.events(
            "kafka-verifiable-consumer", *common, "--group-id", group, "--reset-policy", "earliest"
        )
        assert sum(event["count"] for event in read if event["name"] == "records_consumed") == 500
        commits = [event for event in read if event["name"] == "offsets_committed"]
        assert commits
        assert all(commit["success"] for commit in commits)


# What a broker without transactions and without KIP-848 groups must speak, and up to which version.
SPOKEN = {
    "Produce": 13,
    "Fetch": 18,
    "ListOffsets": 11,
    "Metadata": 13,
    "OffsetCommit": 10,
    "OffsetFetch": 10,
    "FindCoordinator": 6,
    "JoinGroup": 9,
    "Heartbeat": 4,
    "LeaveGroup": 5,
    "SyncGroup": 5,
    "DescribeGroups": 6,
    "ListGroups": 5,
    "ApiVersions": 4,
    "CreateTopics": 7,
    "DeleteTopics": 6,
    "DeleteRecords": 2,
    "InitProducerId": 5,
    "OffsetForLeaderEpoch": 4,
    "DescribeConfigs": 4,
    "AlterConfigs": 2,
    "DescribeLogDirs": 5,
    "CreatePartitions": 3,
    "DeleteGroups": 2,
    "ElectLeaders": 2,
    "IncrementalAlterConfigs": 1,
    "ListPartitionReassignments": 0,
    "OffsetDelete": 0,
    "DescribeCluster": 2,
    "DescribeTopicPartitions": 0,
}


def test_api_versions(shell: Shell) -> None:
    text = shell("kafka-broker-api-versions")
    spoken = re.findall(r"^\t(\w+)\(\d+\): (?:\d+ to )?(\d+) \[usable: (\d+)\]", text, re.MULTILINE)
    newest = {name: int(version) for name, version, _ in spoken}
    assert {name: newest.get(name) for name in SPOKEN} == SPOKEN
    assert all(version == usable for _, version, usable in spoken), "we speak more than the tool knows"


class TestQuotas:
    def test_set_describe_and_remove(self, shell: Shell, fresh: Fresh) -> None:
        user, client = fresh("user"), fresh("client")
        who = ("--entity-type", "users", "--entity-name", user, "--entity-type", "clients")
        limits = "producer_byte_rate=1024,consumer_byte_rate=2048,request_percentage=12.5"
        shell("kafka-configs", "--alter", *who, "--entity-name", client, "--add-config", limits)
        told = shell("kafka-configs", "--describe", *who, "--entity-name", client)
        for value in ("producer_byte_rate=1024.0", "consumer_byte_rate=2048.0", "request_percentage=12.5"):
            assert value in told
        assert user in shell(
            "kafka-configs", "--describe", "--entity-type", "users", "--entity-type", "clients"
        )
        removed = "producer_byte_rate,consumer_byte_rate,request_percentage"
        shell("kafka-configs", "--alter", *who, "--entity-name", client, "--delete-config", removed)
        assert "1024" not in shell("kafka-configs", "--describe", *who, "--entity-name", client)

    def test_addresses_and_defaults(self, shell: Shell) -> None:
        of_ip = ("--entity-type", "ips", "--entity-name", "192.0.2.7")
        shell("kafka-configs", "--alter", *of_ip, "--add-config", "connection_creation_rate=9")
        assert "connection_creation_rate=9.0" in shell("kafka-configs", "--describe", *of_ip)
        shell("kafka-configs", "--alter", *of_ip, "--delete-config", "connection_creation_rate")
        default = ("--entity-type", "users", "--entity-default")
        shell("kafka-configs", "--alter", *default, "--add-config", "controller_mutation_rate=1000000")
        assert "controller_mutation_rate=1000000.0" in shell("kafka-configs", "--describe", *default)
        shell("kafka-configs", "--alter", *default, "--delete-config", "controller_mutation_rate")
        refused = shell.run("kafka-configs", "--alter", *default, "--add-config", "producer_byte_rate=0")
        assert refused.exit_code != 0

    def test_a_java_producer_is_told_and_waits(
        self, kafka_tools: KafkaTools, start_broker: StartBroker, fresh: Fresh
    ) -> None:
        shell = Shell(kafka_tools, start_broker({"quota.window.num": "2"}).bootstrap)
        topic, client = shell.make_topic(fresh("throttled")), fresh("client")
        who = ("--entity-type", "clients", "--entity-name", client)
        shell("kafka-configs", "--alter", *who, "--add-config", "producer_byte_rate=500000")
        properties = (f"bootstrap.servers={shell.bootstrap}", f"client.id={client}", "batch.size=10000")
        told = shell.without_server(
            "kafka-producer-perf-test",
            *("--topic", topic, "--num-records", "1500", "--record-size", "1000", "--throughput", "-1"),
            *("--print-metrics", "--producer-props", *properties),
        )
        waited = re.search(r"producer-metrics:produce-throttle-time-max:\S+\s*:\s*([0-9.]+)", told)
        assert waited is not None, told
        assert float(waited[1]) > 0
        assert shell("kafka-get-offsets", "--topic", topic).strip() == f"{topic}:0:1500"

    def test_changes_beyond_the_quota_are_refused_for_a_while(
        self, shell: Shell, fresh: Fresh, tmp_path: Path
    ) -> None:
        client = fresh("admin")
        properties = tmp_path / "admin.properties"
        properties.write_text(f"client.id={client}\n")
        who = ("--entity-type", "clients", "--entity-name", client)
        shell("kafka-configs", "--alter", *who, "--add-config", "controller_mutation_rate=10")
        topics = [fresh("one"), fresh("two")]

        def create(topic: str) -> ToolRun:
            size = ("--partitions", "120", "--replication-factor", "1")
            options = ("--command-config", str(properties))
            return shell.run("kafka-topics", "--create", "--topic", topic, *size, *options)

        assert create(topics[0]).exit_code == 0
        refused = create(topics[1])
        assert refused.exit_code == 1
        assert "try again in" in refused.out + refused.err
        eventually(lambda: create(topics[1]).exit_code == 0, "the debt to be paid")
        for topic in topics:
            shell("kafka-topics", "--delete", "--topic", topic)
        shell("kafka-configs", "--alter", *who, "--delete-config", "controller_mutation_rate")


def test_levels_of_loggers(shell: Shell) -> None:
    who = ("--entity-type", "broker-loggers", "--entity-name", "1")
    shell("kafka-configs", "--alter", *who, "--add-config", "mainstem.core.housekeeping=DEBUG")
    assert "mainstem.core.housekeeping=DEBUG" in shell("kafka-configs", "--describe", *who)
    shell("kafka-configs", "--alter", *who, "--delete-config", "mainstem.core.housekeeping")
    assert "mainstem.core.housekeeping=DEBUG" not in shell("kafka-configs", "--describe", *who)
