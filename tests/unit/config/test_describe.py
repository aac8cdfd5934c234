"""Options as DescribeConfigs shows them."""

from mainstem.config.broker import BrokerConfig
from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.describe import ConfigEntry, ConfigSynonym, WireType, describe_broker, describe_topic
from mainstem.config.load import load_broker_config
from mainstem.config.source import Source
from mainstem.config.topic_options import TOPIC_OPTIONS


def by_name(entries: list[ConfigEntry]) -> dict[str, ConfigEntry]:
    return {entry.name: entry for entry in entries}


def test_everything_is_described_unless_some_are_asked_for() -> None:
    broker = BrokerConfig.default()
    assert by_name(describe_topic({}, broker)).keys() == TOPIC_OPTIONS.keys()
    assert by_name(describe_broker(broker)).keys() == BROKER_OPTIONS.keys()
    some = describe_topic({}, broker, ["segment.ms", "no.such", "retention.ms", "segment.ms"])
    assert [entry.name for entry in some] == ["segment.ms", "retention.ms"]


def test_a_topic_option_shows_the_whole_chain() -> None:
    broker = load_broker_config(flags={"log.retention.ms": "40", "log.retention.minutes": "3"}).with_dynamic(
        {"log.retention.ms": "20"}, cluster_defaults={"log.retention.ms": "30"}
    )
    (entry,) = describe_topic({"retention.ms": "10"}, broker, ["retention.ms"])
    assert (entry.value, entry.source, entry.type) == ("10", Source.DYNAMIC_TOPIC, WireType.LONG)
    assert not entry.read_only
    assert entry.synonyms == (
        ConfigSynonym("retention.ms", "10", Source.DYNAMIC_TOPIC),
        ConfigSynonym("log.retention.ms", "20", Source.DYNAMIC_BROKER),
        ConfigSynonym("log.retention.ms", "30", Source.DYNAMIC_DEFAULT_BROKER),
        ConfigSynonym("log.retention.ms", "40", Source.STATIC_BROKER),
        ConfigSynonym("log.retention.minutes", "3", Source.STATIC_BROKER),
        ConfigSynonym("log.retention.hours", "168", Source.DEFAULT),
    )


def test_the_value_of_a_topic_and_its_first_synonym_agree_when_nothing_is_set() -> None:
    for entry in describe_topic({}, BrokerConfig.default()):
        assert entry.source is Source.DEFAULT, entry.name
        assert entry.synonyms, entry.name
    (entry,) = describe_topic({}, BrokerConfig.default(), ["retention.ms"])
    assert entry.value == "604800000"
    assert entry.synonyms == (ConfigSynonym("log.retention.hours", "168", Source.DEFAULT),)


def test_a_broker_option_shows_its_sources() -> None:
    config = load_broker_config(
        environ={"MAINSTEM_MESSAGE_MAX_BYTES": "1MiB"}, flags={"message.max.bytes": "2MiB"}
    ).with_dynamic({"message.max.bytes": "3MiB"})
    (entry,) = describe_broker(config, ["message.max.bytes"])
    assert (entry.value, entry.source, entry.read_only) == ("3145728", Source.DYNAMIC_BROKER, False)
    assert entry.synonyms == (
        ConfigSynonym("message.max.bytes", "3145728", Source.DYNAMIC_BROKER),
        ConfigSynonym("message.max.bytes", "2097152", Source.STATIC_BROKER),
        ConfigSynonym("message.max.bytes", "1048588", Source.DEFAULT),
    )


def test_what_cannot_change_at_run_time_is_read_only() -> None:
    entries = by_name(describe_broker(BrokerConfig.default()))
    assert entries["inter.broker.protocol.version"].value == "4.0-IV3"
    assert entries["inter.broker.protocol.version"].read_only
    assert entries["num.partitions"].read_only
    assert entries["listener.kafka"].type is WireType.STRING
    assert entries["log.cleanup.policy"].type is WireType.LIST
    assert entries["broker.rack"].value is None
