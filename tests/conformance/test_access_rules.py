"""Access rules with confluent-kafka and with `mainstem acl`: the APIs of rules, what they allow and deny."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from tests.support.confluent import create_topic
from tests.support.deadline import eventually
from tests.support.guarded_broker import ANONYMOUS, EVERY_RULE, GuardedBroker
from tests.support.mainstem_command import MainstemCommand

from .conftest import NewName

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.BROKER
LITERAL, PREFIXED, MATCH = (
    ResourcePatternType.LITERAL,
    ResourcePatternType.PREFIXED,
    ResourcePatternType.MATCH,
)
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
CLUSTER_NAME = "kafka-cluster"


@pytest.fixture(scope="module")
def one_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedBroker]:
    broker = GuardedBroker(tmp_path_factory.mktemp("guarded"))
    yield broker
    broker.close()


@pytest.fixture
def broker(one_broker: GuardedBroker) -> Iterator[GuardedBroker]:
    yield one_broker
    one_broker.revoke()


@pytest.fixture
def stranger(broker: GuardedBroker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def code_of(future: Future[Any]) -> int | None:
    """The code of the error that the future has; none where it has a result."""
    try:
        future.result(30)
    except KafkaException as error:
        return int(error.args[0].code())
    return None


def produced(broker: GuardedBroker, topic: str, **config: Any) -> int | None:
    """The code of the error of a delivery, if it has one."""
    outcomes: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 20_000, **config})
    try:
        producer.produce(topic, b"value", on_delivery=lambda error, _: outcomes.append(error))
    except KafkaException as error:
        return int(error.args[0].code())
    eventually(lambda: producer.poll(0.1) >= 0 and bool(outcomes), "the delivery report")
    return None if outcomes[0] is None else int(outcomes[0].code())


def consumed(broker: GuardedBroker, topic: str, group: str) -> int | bytes:
    """The value of a record, or the code of the error that came instead."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    )
    found: list[int | bytes] = []

    def is_told() -> bool:
        message = consumer.poll(0.2)
        if message is not None:
            error = message.error()
            found.append(message.value() if error is None else int(error.code()))
        return bool(found)

    try:
        consumer.subscribe([topic])
        eventually(is_told, "a record or an error")
        if isinstance(found[0], bytes):
            consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return found[0]


# --- the APIs of rules


def test_rules_are_made_described_and_deleted(broker: GuardedBroker) -> None:
    literal = broker.rule(TOPIC, "orders", READ)
    prefix = broker.rule(TOPIC, "ord", WRITE, DENY, PREFIXED, principal="User:eve")
    cluster = broker.rule(CLUSTER, CLUSTER_NAME, AclOperation.CREATE)
    broker.allow(literal, prefix, cluster)
    found = broker.root.describe_acls(EVERY_RULE).result(30)
    assert set(found) == {literal, prefix, cluster}
    about = AclBindingFilter(TOPIC, "ordeal", MATCH, None, None, AclOperation.ANY, AclPermissionType.ANY)
    assert broker.root.describe_acls(about).result(30) == [prefix]
    (deleted,) = broker.root.delete_acls([about]).values()
    assert deleted.result(30) == [prefix]
    assert set(broker.root.describe_acls(EVERY_RULE).result(30)) == {literal, cluster}


def test_what_is_no_rule_is_refused(broker: GuardedBroker) -> None:
    bad = broker.rule(TOPIC, "orders", READ, principal="nobody")
    (outcome,) = broker.root.create_acls([bad]).values()
    assert code_of(outcome) == KafkaError.INVALID_REQUEST


def test_rules_survive_a_restart(tmp_path: Any) -> None:
    broker = GuardedBroker(tmp_path)
    rule = broker.rule(TOPIC, "orders", READ)
    broker.allow(rule)
    assert broker.process.stop() == 0
    broker.process.start()
    broker.root = AdminClient({**broker.as_root, "bootstrap.servers": broker.process.listeners["SSL"]})
    assert broker.root.describe_acls(EVERY_RULE).result(30) == [rule]
    broker.close()


def test_a_stranger_may_not_touch_the_rules(broker: GuardedBroker, stranger: AdminClient) -> None:
    denied = KafkaError.CLUSTER_AUTHORIZATION_FAILED
    rule = broker.rule(TOPIC, "orders", READ)
    broker.allow(rule)
    # librdkafka does not tell the error at the top of the answer; that no rule is in it, it does.
    assert stranger.describe_acls(EVERY_RULE).result(30) == []
    (created,) = stranger.create_acls([rule]).values()
    assert code_of(created) == denied
    (deleted,) = stranger.delete_acls([EVERY_RULE]).values()
    assert code_of(deleted) == denied
    assert broker.root.describe_acls(EVERY_RULE).result(30) == [rule]


def test_a_broker_without_rules_says_so(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    (removed,) = admin.delete_acls([EVERY_RULE]).values()
    assert code_of(removed) == KafkaError.SECURITY_DISABLED


# --- what they allow and deny


def test_producing(broker: GuardedBroker, new_name: NewName) -> None:
    topic = create_topic(broker.root, new_name())
    denied = KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert produced(broker, topic) == denied
    broker.allow(broker.rule(TOPIC, topic, READ))
    assert produced(broker, topic) == denied
    broker.allow(broker.rule(TOPIC, topic, WRITE))
    assert produced(broker, topic) is None
    assert produced(broker, topic, **{"enable.idempotence": True}) is None
    broker.allow(broker.rule(TOPIC, "*", WRITE, DENY, principal="User:*"))
    assert produced(broker, topic) == denied


def test_consuming(broker: GuardedBroker, new_name: NewName) -> None:
    topic, group = create_topic(broker.root, new_name()), new_name("group")
    broker.allow(broker.rule(TOPIC, topic, WRITE))
    assert produced(broker, topic) is None
    assert consumed(broker, topic, group) == KafkaError.GROUP_AUTHORIZATION_FAILED
    broker.allow(broker.rule(GROUP, group[:-1], READ, pattern=PREFIXED))
    assert consumed(broker, topic, group) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    broker.allow(broker.rule(TOPIC, topic, READ))
    assert consumed(broker, topic, group) == b"value"


def test_a_right_that_is_taken_away_stops_who_is_connected(broker: GuardedBroker, new_name: NewName) -> None:
    topic = create_topic(broker.root, new_name())
    rule = broker.rule(TOPIC, topic, WRITE)
    broker.allow(rule)
    outcomes: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})

    def deliver() -> KafkaError | None:
        count = len(outcomes)
        producer.produce(topic, b"v", on_delivery=lambda error, _: outcomes.append(error))
        eventually(lambda: producer.poll(0.1) >= 0 and len(outcomes) > count, "the delivery report")
        return outcomes[-1]

    assert deliver() is None
    assert deliver() is None
    broker.revoke(rule)
    error = deliver()
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_transactions(broker: GuardedBroker, new_name: NewName) -> None:
    topic, transactional_id = create_topic(broker.root, new_name()), new_name("id")
    broker.allow(broker.rule(TOPIC, topic, WRITE))

    def begun() -> Producer:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": transactional_id})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(topic, b"value")
        return producer

    with pytest.raises(KafkaException) as refused:
        begun()
    assert refused.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    broker.allow(broker.rule(ResourceType.TRANSACTIONAL_ID, transactional_id, WRITE))
    begun().commit_transaction(30)
    broker.revoke(broker.rule(TOPIC, topic, WRITE))
    with pytest.raises(KafkaException):
        begun().commit_transaction(30)


def test_topics(broker: GuardedBroker, stranger: AdminClient, new_name: NewName) -> None:
    name = new_name()
    denied = KafkaError.TOPIC_AUTHORIZATION_FAILED

    def created() -> int | None:
        return code_of(stranger.create_topics([NewTopic(name, 1, 1)])[name])

    def visible() -> bool:
        return name in stranger.list_topics(timeout=30).topics

    assert created() == denied
    broker.allow(broker.rule(TOPIC, name, AclOperation.CREATE))
    assert created() is None
    eventually(lambda: name in broker.root.list_topics(timeout=30).topics, "the topic")
    assert not visible()
    broker.allow(broker.rule(TOPIC, name, DESCRIBE))
    assert visible()
    assert code_of(stranger.create_partitions([NewPartitions(name, 2)])[name]) == denied
    broker.allow(broker.rule(TOPIC, name, AclOperation.ALTER))
    assert code_of(stranger.create_partitions([NewPartitions(name, 2)])[name]) is None
    options = ConfigResource(ConfigResource.Type.TOPIC, name)
    assert code_of(stranger.describe_configs([options])[options]) == denied
    broker.allow(broker.rule(TOPIC, name, AclOperation.ALTER_CONFIGS))
    assert code_of(stranger.describe_configs([options])[options]) is None
    assert code_of(stranger.delete_topics([name])[name]) == denied
    broker.allow(broker.rule(CLUSTER, CLUSTER_NAME, AclOperation.DELETE))
    assert code_of(stranger.delete_topics([name])[name]) is None


def test_groups_and_the_broker(broker: GuardedBroker, stranger: AdminClient, new_name: NewName) -> None:
    topic, group = create_topic(broker.root, new_name()), new_name("group")
    reading = [
        broker.rule(TOPIC, topic, READ),
        broker.rule(TOPIC, topic, WRITE),
        broker.rule(GROUP, group, READ),
    ]
    broker.allow(*reading)
    assert produced(broker, topic) is None
    assert consumed(broker, topic, group) == b"value"
    asked = ConsumerGroupTopicPartitions(group)

    def listed() -> list[str]:
        return [each.group_id for each in stranger.list_consumer_groups().result(30).valid]

    assert code_of(stranger.list_consumer_group_offsets([asked])[group]) is None
    assert group in listed()
    broker.revoke(reading[2])
    assert group not in listed()
    denied = KafkaError.GROUP_AUTHORIZATION_FAILED
    assert code_of(stranger.list_consumer_group_offsets([asked])[group]) == denied
    assert code_of(stranger.describe_consumer_groups([group])[group]) == denied
    assert code_of(stranger.delete_consumer_groups([group])[group]) == denied
    broker.allow(broker.rule(GROUP, group, AclOperation.DELETE))
    assert code_of(stranger.delete_consumer_groups([group])[group]) is None
    options = ConfigResource(ConfigResource.Type.BROKER, "1")
    code = code_of(stranger.describe_configs([options])[options])
    assert code == KafkaError.CLUSTER_AUTHORIZATION_FAILED


def test_the_operations_that_one_may_carry_out(broker: GuardedBroker, stranger: AdminClient) -> None:
    broker.allow(broker.rule(CLUSTER, CLUSTER_NAME, AclOperation.ALTER))
    described = stranger.describe_cluster(include_authorized_operations=True).result(30)
    assert set(described.authorized_operations) == {AclOperation.ALTER, DESCRIBE}


def test_refusals_are_logged_and_counted(broker: GuardedBroker, new_name: NewName) -> None:
    topic = create_topic(broker.root, new_name())
    assert produced(broker, topic) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    with urllib.request.urlopen(f"{broker.process.admin_url}/metrics", timeout=30) as page:
        figures = page.read().decode()
    line = next(each for each in figures.splitlines() if each.startswith("mainstem_operations_denied_total"))
    assert float(line.split()[-1]) >= 1
    log = broker.process.log_text()
    assert "may not DESCRIBE TOPIC" in log
    assert ANONYMOUS in log


# --- users


def test_users_that_logged_in_have_rules_of_their_own(broker: GuardedBroker, new_name: NewName) -> None:
    topic = create_topic(broker.root, new_name())
    alice, eve = broker.user("alice"), broker.user("eve")
    denied = KafkaError.TOPIC_AUTHORIZATION_FAILED
    broker.allow(broker.rule(TOPIC, topic, WRITE, principal="User:alice"))
    assert produced(broker, topic, **alice) is None
    assert produced(broker, topic, **eve) == denied
    assert produced(broker, topic) == denied
    broker.allow(
        broker.rule(TOPIC, "*", WRITE, principal="User:*"),
        broker.rule(TOPIC, topic[:3], WRITE, DENY, PREFIXED, principal="User:eve"),
    )
    assert produced(broker, topic) is None
    assert produced(broker, topic, **eve) == denied
    users = AdminClient(alice)
    outcome = users.describe_user_scram_credentials(["eve"])["eve"]
    assert code_of(outcome) == KafkaError.CLUSTER_AUTHORIZATION_FAILED


# --- the command line


def test_mainstem_acl(broker: GuardedBroker, new_name: NewName) -> None:
    mainstem = MainstemCommand(broker.bootstrap)
    refused = mainstem.run("acl", "list")
    assert refused.code == 1
    assert "CLUSTER_AUTHORIZATION_FAILED" in refused.stderr
    broker.allow(
        broker.rule(CLUSTER, CLUSTER_NAME, AclOperation.ALTER), broker.rule(CLUSTER, CLUSTER_NAME, DESCRIBE)
    )
    topic = new_name()
    made = mainstem.ok("acl", "add", "--allow", "alice", "--producer", "--topic", topic, "--json").document
    assert {(rule["principal"], rule["operation"]) for rule in made} == {
        ("User:alice", "Write"),
        ("User:alice", "Describe"),
        ("User:alice", "Create"),
    }
    mainstem.ok("acl", "add", "--deny", "User:*", "--topic", topic[:5], "--pattern", "prefixed")
    table = mainstem.ok("acl", "list", "--topic", topic, "--pattern", "match").lines
    assert table[0].split() == ["RESOURCE", "NAME", "PATTERN", "PRINCIPAL", "HOST", "OPERATION", "PERMISSION"]
    assert ["Topic", topic[:5], "prefixed", "User:*", "*", "All", "deny"] in [line.split() for line in table]
    assert len(table) == 5
    assert "--yes" in mainstem.run("acl", "remove", "--topic", topic).stderr
    removed = mainstem.ok(
        "acl", "remove", "--topic", topic, "--operation", "write", "--yes", "--json"
    ).document
    assert [rule["operation"] for rule in removed] == ["Write"]
    mainstem.ok("acl", "remove", "--allow", "alice", "--yes")
    assert len(mainstem.ok("acl", "list", "--topic", topic, "--json").document) == 0
    assert len(mainstem.ok("acl", "list", "--json").document) == 3
    wrong = mainstem.run("acl", "add", "--allow", "alice", "--group", "g", "--operation", "write")
    assert wrong.code == 2
    assert "Write" in wrong.stderr
