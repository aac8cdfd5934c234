"""Access rules with Kafka's own tools and Java's client: made by kafka-acls, felt by console clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, ResourceType
from tests.support.guarded_broker import GuardedBroker
from tests.support.kafka_tools import KafkaTools, ToolRun

pytestmark = pytest.mark.xdist_group("kafka-tools")

Fresh = Callable[[str], str]
CLUSTER_NAME = "kafka-cluster"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[GuardedBroker]:
    broker = GuardedBroker(tmp_path)
    yield broker
    broker.close()


def test_kafka_acls_and_java_clients(kafka_tools: KafkaTools, broker: GuardedBroker, fresh: Fresh) -> None:
    def run(tool: str, *arguments: str, stdin: str = "") -> ToolRun:
        return kafka_tools.run(tool, "--bootstrap-server", broker.bootstrap, *arguments, stdin=stdin)

    def acls(*arguments: str) -> str:
        done = run("kafka-acls", *arguments)
        assert done.exit_code == 0, done.out + done.err
        return done.out

    topic, group = fresh("orders"), fresh("billing")

    def consume() -> ToolRun:
        return run(
            "kafka-console-consumer",
            *("--topic", topic, "--group", group, "--from-beginning"),
            *("--max-messages", "1", "--timeout-ms", "20000"),
        )

    # A stranger may not look at the rules.
    refused = run("kafka-acls", "--list")
    assert "ClusterAuthorizationException" in refused.out + refused.err
    broker.allow(
        broker.rule(ResourceType.BROKER, CLUSTER_NAME, AclOperation.ALTER),
        broker.rule(ResourceType.BROKER, CLUSTER_NAME, AclOperation.DESCRIBE),
    )
    # Without a rule of its topic a client is refused.
    created = run("kafka-topics", "--create", "--topic", topic, "--partitions", "1")
    assert "Topic authorization failed" in created.out + created.err
    me = ("--allow-principal", "User:ANONYMOUS")
    acls("--add", *me, "--producer", "--topic", topic)
    assert run("kafka-topics", "--create", "--topic", topic, "--partitions", "1").exit_code == 0
    assert run("kafka-console-producer", "--topic", topic, stdin="one\n").exit_code == 0
    assert consume().out == ""
    asked = run("kafka-consumer-groups", "--describe", "--group", group)
    assert "GroupAuthorizationException" in asked.out + asked.err
    acls("--add", *me, "--consumer", "--topic", topic, "--group", group[:4], *PREFIXED)
    reading = consume()
    assert "one" in reading.out.splitlines(), reading.out + reading.err
    assert run("kafka-consumer-groups", "--describe", "--group", group).exit_code == 0
    # What a denial takes away.
    acls("--add", "--deny-principal", "User:*", "--operation", "Read", "--topic", topic)
    assert consume().out == ""
    # What is listed, and goes again.
    listed = acls("--list", "--topic", topic, "--resource-pattern-type", "match")
    assert "principal=User:ANONYMOUS, host=*, operation=WRITE, permissionType=ALLOW" in listed
    assert "principal=User:*, host=*, operation=READ, permissionType=DENY" in listed
    acls("--remove", "--force", "--topic", topic)
    assert "principal" not in acls("--list", "--topic", topic)
    assert group[:4] in acls("--list", "--group", group[:4], *PREFIXED)


PREFIXED = ("--resource-pattern-type", "prefixed")
