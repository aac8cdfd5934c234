"""confluent-kafka's AdminClient: configurations of topics and of the broker."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from tests.conformance.conftest import NewName
from tests.support.deadline import eventually


def describe(admin: AdminClient, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
    resource = ConfigResource(kind, name)
    entries: dict[str, ConfigEntry] = admin.describe_configs([resource])[resource].result(20)
    return entries


def change(admin: AdminClient, topic: str, *changes: tuple[str, AlterConfigOpType, str | None]) -> None:
    entries = [ConfigEntry(name, value, incremental_operation=how) for name, how, value in changes]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(20)


def values(entries: dict[str, ConfigEntry], names: Iterable[str]) -> dict[str, str]:
    return {name: entries[name].value for name in names}


def test_a_topics_configuration_shows_where_it_comes_from(admin: AdminClient, new_topic: NewName) -> None:
    topic = new_topic(1, {"retention.ms": "60000", "cleanup.policy": "compact,delete"})
    entries = describe(admin, ResourceType.TOPIC, topic)

    assert entries["retention.ms"].value == "60000"
    assert entries["retention.ms"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert not entries["retention.ms"].is_default
    assert entries["cleanup.policy"].value == "compact,delete"
    assert entries["segment.bytes"].value == str(1024**3)
    assert entries["segment.bytes"].source == ConfigSource.DEFAULT_CONFIG.value
    assert entries["segment.bytes"].is_default
    kafkas = {
        "cleanup.policy": "compact,delete",
        "compression.type": "producer",
        "delete.retention.ms": "86400000",
        "file.delete.delay.ms": "60000",
        "flush.messages": "9223372036854775807",
        "flush.ms": "9223372036854775807",
        "index.interval.bytes": "4096",
        "max.compaction.lag.ms": "9223372036854775807",
        "max.message.bytes": "1048588",
        "message.timestamp.type": "CreateTime",
        "min.cleanable.dirty.ratio": "0.5",
        "min.compaction.lag.ms": "0",
        "min.insync.replicas": "1",
        "preallocate": "false",
        "retention.bytes": "-1",
        "segment.index.bytes": "10485760",
        "segment.jitter.ms": "0",
        "segment.ms": "604800000",
        "unclean.leader.election.enable": "false",
    }
    assert values(entries, kafkas) == kafkas


def test_changes_add_up_and_go_back(admin: AdminClient, new_topic: NewName) -> None:
    topic = new_topic(1, {"segment.ms": "100000"})
    change(admin, topic, ("retention.ms", AlterConfigOpType.SET, "5000"))
    change(admin, topic, ("max.message.bytes", AlterConfigOpType.SET, "2000"))
    change(admin, topic, ("cleanup.policy", AlterConfigOpType.APPEND, "compact"))
    names = ("retention.ms", "max.message.bytes", "cleanup.policy", "segment.ms")
    assert values(describe(admin, ResourceType.TOPIC, topic), names) == {
        "retention.ms": "5000",
        "max.message.bytes": "2000",
        "cleanup.policy": "delete,compact",
        "segment.ms": "100000",
    }

    change(
        admin,
        topic,
        ("retention.ms", AlterConfigOpType.DELETE, None),
        ("cleanup.policy", AlterConfigOpType.SUBTRACT, "delete"),
    )
    assert values(describe(admin, ResourceType.TOPIC, topic), names) == {
        "retention.ms": "604800000",
        "max.message.bytes": "2000",
        "cleanup.policy": "compact",
        "segment.ms": "100000",
    }


@pytest.mark.filterwarnings("ignore:.*alter_configs.*")
def test_the_old_request_replaces_everything(admin: AdminClient, new_topic: NewName) -> None:
    topic = new_topic(1, {"retention.ms": "60000"})
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"segment.ms": "70000"})
    admin.alter_configs([resource])[resource].result(20)
    entries = describe(admin, ResourceType.TOPIC, topic)
    assert values(entries, ("retention.ms", "segment.ms")) == {
        "retention.ms": "604800000",
        "segment.ms": "70000",
    }


@pytest.mark.parametrize(
    ("name", "how", "value"),
    [
        ("retention.ms", AlterConfigOpType.SET, "never"),
        ("no.such.option", AlterConfigOpType.SET, "1"),
        ("max.message.bytes", AlterConfigOpType.SET, "-5"),
        ("compression.type", AlterConfigOpType.SET, "rar"),
        ("retention.ms", AlterConfigOpType.APPEND, "1"),  # not a list
    ],
)
def test_an_impossible_change_changes_nothing(
    admin: AdminClient, new_topic: NewName, name: str, how: AlterConfigOpType, value: str
) -> None:
    topic = new_topic(1)
    before = values(describe(admin, ResourceType.TOPIC, topic), ("retention.ms", "segment.ms"))
    with pytest.raises(KafkaException) as refused:
        change(admin, topic, ("segment.ms", AlterConfigOpType.SET, "12345"), (name, how, value))
    assert refused.value.args[0].code() == KafkaError.INVALID_CONFIG
    assert name in refused.value.args[0].str()
    assert values(describe(admin, ResourceType.TOPIC, topic), before) == before


def test_an_unknown_topic_has_no_configuration(admin: AdminClient, new_name: NewName) -> None:
    topic = new_name()
    with pytest.raises(KafkaException) as refused:
        describe(admin, ResourceType.TOPIC, topic)
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    with pytest.raises(KafkaException) as refused:
        change(admin, topic, ("retention.ms", AlterConfigOpType.SET, "1"))
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_the_brokers_own_configuration(admin: AdminClient) -> None:
    node_id = next(iter(admin.list_topics(timeout=10).brokers))
    entries = describe(admin, ResourceType.BROKER, str(node_id))
    assert entries["group.initial.rebalance.delay.ms"].value == "0"
    assert entries["group.initial.rebalance.delay.ms"].source == ConfigSource.STATIC_BROKER_CONFIG.value
    assert entries["log.segment.bytes"].value == str(1024**3)
    assert entries["log.segment.bytes"].source == ConfigSource.DEFAULT_CONFIG.value
    assert not any(entry.value for entry in entries.values() if entry.is_sensitive)


def test_a_dynamic_option_of_the_broker(admin: AdminClient) -> None:
    node_id = str(next(iter(admin.list_topics(timeout=10).brokers)))

    def alter(how: AlterConfigOpType, value: str | None) -> None:
        entry = ConfigEntry("max.connections", value, incremental_operation=how)
        resource = ConfigResource(ResourceType.BROKER, node_id, incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(20)

    def shows(value: str, source: ConfigSource) -> bool:
        entry = describe(admin, ResourceType.BROKER, node_id)["max.connections"]
        return (entry.value, entry.source) == (value, source.value)

    alter(AlterConfigOpType.SET, "5000")
    try:
        eventually(lambda: shows("5000", ConfigSource.DYNAMIC_BROKER_CONFIG), "the value that was set")
    finally:
        alter(AlterConfigOpType.DELETE, None)
    eventually(lambda: shows(str(2**31 - 1), ConfigSource.DEFAULT_CONFIG), "the default again")


def test_a_fixed_option_of_the_broker_cannot_change_at_run_time(admin: AdminClient) -> None:
    node_id = str(next(iter(admin.list_topics(timeout=10).brokers)))
    entry = ConfigEntry("node.id", "5", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, node_id, incremental_configs=[entry])
    with pytest.raises(KafkaException) as refused:
        admin.incremental_alter_configs([resource])[resource].result(20)
    assert refused.value.args[0].code() in {KafkaError.INVALID_CONFIG, KafkaError.INVALID_REQUEST}
