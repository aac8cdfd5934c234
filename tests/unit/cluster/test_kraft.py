"""Taking over what Kafka knew: from its metadata log to an empty store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from tests.support.simulated_clock import SimulatedClock

from mainstem.cluster import keys
from mainstem.cluster.errors import CannotAdopt, KafkaMetadataUnreadable
from mainstem.cluster.image_builder import EMPTY_IMAGE, missing_as_deleted, next_image
from mainstem.cluster.kraft.adoption import Adoption, plan_adoption, write_adoption
from mainstem.cluster.kraft.metadata_log import FOLDER, read_metadata
from mainstem.cluster.sqlite_store import open_sqlite_store
from mainstem.cluster.store import Event
from mainstem.config.broker import BrokerConfig
from mainstem.core.identity.acl import (
    AccessRule,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.core.identity.credentials import ScramCredential
from mainstem.core.image import ClusterImage
from mainstem.core.quotas.entity import checked_entity
from mainstem.log import partition_metadata
from mainstem.model.batch import PREFIX
from mainstem.model.ids import TopicId
from mainstem.model.records import NewRecord, build_batch
from mainstem.ports.disk import RealDisk
from mainstem.wire.kafka.codec import encode
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.metadata.abort_transaction_record import AbortTransactionRecord
from mainstem.wire.kafka.metadata.access_control_entry_record import AccessControlEntryRecord
from mainstem.wire.kafka.metadata.begin_transaction_record import BeginTransactionRecord
from mainstem.wire.kafka.metadata.client_quota_record import ClientQuotaRecord, EntityData
from mainstem.wire.kafka.metadata.config_record import ConfigRecord
from mainstem.wire.kafka.metadata.end_transaction_record import EndTransactionRecord
from mainstem.wire.kafka.metadata.partition_change_record import PartitionChangeRecord
from mainstem.wire.kafka.metadata.partition_record import PartitionRecord
from mainstem.wire.kafka.metadata.producer_ids_record import ProducerIdsRecord
from mainstem.wire.kafka.metadata.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from mainstem.wire.kafka.metadata.remove_topic_record import RemoveTopicRecord
from mainstem.wire.kafka.metadata.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from mainstem.wire.kafka.metadata.topic_record import TopicRecord
from mainstem.wire.kafka.metadata.user_scram_credential_record import UserScramCredentialRecord
from mainstem.wire.primitives import uvarint

ORDERS, EVENTS = b"orders-topic-id.", b"events-topic-id."
DISK = RealDisk()


def batch_of(records: Iterable[Message | bytes], base_offset: int = 0) -> bytes:
    values = [
        record
        if isinstance(record, bytes)
        else b"\x01" + uvarint(record.SCHEMA.key) + b"\x00" + encode(record, 0)
        for record in records
    ]
    batch = build_batch([NewRecord(None, value, timestamp_ms=0) for value in values])
    return PREFIX.pack(base_offset, len(batch) - 12, 0) + batch[16:]


class KafkaDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path
        (path / FOLDER).mkdir(parents=True)
        (path / "meta.properties").write_text("version=1\ncluster.id=kafkas\nnode.id=3\n")

    def log(self, *records: Message | bytes, base_offset: int = 0) -> None:
        (self.path / FOLDER / f"{base_offset:020}.log").write_bytes(batch_of(records, base_offset))

    def partition(self, name: str, topic_id: bytes) -> None:
        (self.path / name).mkdir()
        partition_metadata.write(DISK, str(self.path / name), TopicId(topic_id))

    def plan(self, *others: KafkaDirectory, only_whole_topics: bool = False) -> Adoption:
        paths = [str(each.path) for each in (self, *others)]
        return plan_adoption(DISK, paths, BrokerConfig.default(), only_whole_topics=only_whole_topics)


@pytest.fixture
def kafka(tmp_path: Path) -> KafkaDirectory:
    return KafkaDirectory(tmp_path / "kafka")


def topic(name: str, topic_id: bytes, *epochs: int) -> list[Message]:
    return [
        TopicRecord(name=name, topic_id=topic_id),
        *(
            PartitionRecord(
                partition_id=index, topic_id=topic_id, replicas=[3], isr=[3], leader=3, leader_epoch=epoch
            )
            for index, epoch in enumerate(epochs)
        ),
    ]


async def image_of(adoption: Adoption, path: Path) -> ClusterImage:
    store = await open_sqlite_store(str(path / "metadata.db"), SimulatedClock())
    try:
        await write_adoption(store, adoption)
        with pytest.raises(CannotAdopt, match="knows a cluster"):
            await write_adoption(store, adoption)
        read = await store.range(keys.ROOT)
    finally:
        await store.close()
    events = [Event(entry.key, entry.value, entry.mod_revision) for entry in read.entries]
    return next_image(EMPTY_IMAGE, missing_as_deleted(EMPTY_IMAGE, events, read.revision), read.revision)[0]


async def test_what_kafka_knew_is_known_here(kafka: KafkaDirectory, tmp_path: Path) -> None:
    alice = AccessControlEntryRecord(
        id=b"1" * 16,
        resource_type=2,
        resource_name="ord",
        pattern_type=4,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    gone = AccessControlEntryRecord(
        id=b"2" * 16, resource_type=2, resource_name="x", pattern_type=3, operation=3, permission_type=2
    )
    kafka.log(
        *topic("orders", ORDERS, 4, 5),
        *topic("__consumer_offsets", EVENTS, 0),
        PartitionChangeRecord(partition_id=1, topic_id=ORDERS, leader=3),
        PartitionChangeRecord(partition_id=1, topic_id=ORDERS, isr=[3]),
        ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="-1"),
        ConfigRecord(resource_type=2, resource_name="orders", name="segment.ms", value="5000"),
        ConfigRecord(resource_type=2, resource_name="orders", name="segment.ms", value=None),
        ConfigRecord(resource_type=4, resource_name="", name="max.connections", value="77"),
        ConfigRecord(resource_type=4, resource_name="9", name="max.connections", value="1"),
        ClientQuotaRecord(
            entity=[EntityData(entity_type="user", entity_name=None)], key="producer_byte_rate", value=5.0
        ),
        ClientQuotaRecord(
            entity=[EntityData(entity_type="ip", entity_name="10.0.0.1")],
            key="connection_creation_rate",
            value=5.0,
        ),
        ClientQuotaRecord(
            entity=[EntityData(entity_type="ip", entity_name="10.0.0.1")],
            key="connection_creation_rate",
            remove=True,
        ),
        alice,
        gone,
        RemoveAccessControlEntryRecord(id=gone.id),
        *(
            UserScramCredentialRecord(
                name="bob", mechanism=kind, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
            )
            for kind in (1, 2)
        ),
        RemoveUserScramCredentialRecord(name="bob", mechanism=1),
        ProducerIdsRecord(broker_id=3, next_producer_id=4000),
        b"\x01\x63\x00",  # a kind of record that says nothing about data
    )
    for name, topic_id in (("orders-0", ORDERS), ("orders-1", ORDERS), ("__consumer_offsets-0", EVENTS)):
        kafka.partition(name, topic_id)
    adoption = kafka.plan()
    assert (adoption.left_out, adoption.partition_count) == ([], 3)
    image = await image_of(adoption, tmp_path)
    assert image.cluster_id == "kafkas"
    orders = image.topics["orders"]
    assert orders.topic_id == ORDERS
    assert orders.config == {"retention.ms": "-1"}
    assert [(each.leader, each.replicas, each.leader_epoch) for each in orders.partitions] == [
        (3, (3,), 5),
        (3, (3,), 7),
    ]
    assert image.topics["__consumer_offsets"].is_internal
    assert image.broker_configs == {"": {"max.connections": "77"}}
    assert image.quotas == {checked_entity([("user", None)]): {"producer_byte_rate": 5.0}}
    pattern = ResourcePattern(ResourceType.TOPIC, "ord", PatternType.PREFIXED)
    assert image.acls == {pattern: (AccessRule("User:alice", "*", Operation.READ, Permission.ALLOW),)}
    assert image.users == {"bob": {"SCRAM-SHA-512": ScramCredential(b"s", b"k", b"v", 4096)}}
    assert adoption.next_producer_id == 4000


def names(messages: Iterable[Message]) -> list[str]:
    return [message.name for message in messages if isinstance(message, TopicRecord)]


def test_a_checkpoint_comes_before_the_log_behind_it(kafka: KafkaDirectory) -> None:
    folder = kafka.path / FOLDER
    (folder / "00000000000000000002-0000000001.checkpoint").write_bytes(batch_of(topic("old", EVENTS)))
    (folder / "00000000000000000005-0000000001.checkpoint").write_bytes(batch_of(topic("a", EVENTS)))
    log = [TopicRecord(name=name, topic_id=ORDERS) for name in ("x", "y", "b", "c")]
    kafka.log(*log, base_offset=3)
    assert names(read_metadata(DISK, str(folder))) == ["a", "b", "c"]


def test_what_was_given_up_does_not_count(kafka: KafkaDirectory) -> None:
    kafka.log(
        BeginTransactionRecord(),
        *topic("kept", ORDERS),
        EndTransactionRecord(),
        BeginTransactionRecord(),
        *topic("aborted", EVENTS),
        AbortTransactionRecord(),
        BeginTransactionRecord(),
        *topic("unfinished", EVENTS),
    )
    assert names(read_metadata(DISK, str(kafka.path / FOLDER))) == ["kept"]


def test_a_segment_may_end_in_zeros(kafka: KafkaDirectory) -> None:
    path = kafka.path / FOLDER / f"{0:020}.log"
    path.write_bytes(batch_of(topic("a", ORDERS)) + bytes(5000))
    assert names(read_metadata(DISK, str(kafka.path / FOLDER))) == ["a"]


@pytest.mark.parametrize("damage", [b"\x02\x02\x00", b"\x01\x02\x09", b"\x01\x02\x00\x05"])
def test_damage_names_the_file(kafka: KafkaDirectory, damage: bytes) -> None:
    kafka.log(damage)
    with pytest.raises(KafkaMetadataUnreadable, match=r"0\.log"):
        kafka.plan()


def test_a_torn_end_asks_for_a_clean_stop(kafka: KafkaDirectory) -> None:
    kafka.log(*topic("orders", ORDERS))
    path = kafka.path / FOLDER / f"{0:020}.log"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(KafkaMetadataUnreadable) as refused:
        kafka.plan()
    assert "stop it cleanly" in refused.value.cure


def test_a_flipped_bit_is_seen(kafka: KafkaDirectory) -> None:
    kafka.log(*topic("orders", ORDERS))
    path = kafka.path / FOLDER / f"{0:020}.log"
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    with pytest.raises(KafkaMetadataUnreadable, match="checksum"):
        kafka.plan()


def test_a_log_whose_beginning_is_gone_is_not_guessed_at(kafka: KafkaDirectory) -> None:
    kafka.log(*topic("a", ORDERS), base_offset=9)
    with pytest.raises(KafkaMetadataUnreadable, match="beginning"):
        kafka.plan()


def test_topics_that_are_not_whole_are_named_and_can_be_left_behind(kafka: KafkaDirectory) -> None:
    kafka.log(*topic("orders", ORDERS, 0, 0), *topic("events", EVENTS, 0))
    kafka.partition("orders-0", ORDERS)
    kafka.partition("events-0", EVENTS)
    with pytest.raises(CannotAdopt, match=r"orders \(partition 1 of 2\)"):
        kafka.plan()
    adoption = kafka.plan(only_whole_topics=True)
    assert [each.name for each in adoption.topics] == ["events"]
    assert adoption.left_out == ["topic orders (partition 1 of 2)"]


def test_several_directories_make_one_broker(kafka: KafkaDirectory, tmp_path: Path) -> None:
    kafka.log(*topic("orders", ORDERS, 0, 0))
    second = KafkaDirectory(tmp_path / "second")
    (second.path / FOLDER).rmdir()
    kafka.partition("orders-0", ORDERS)
    second.partition("orders-1", ORDERS)
    assert second.plan(kafka).partition_count == 2
    second.partition("orders-0", ORDERS)
    with pytest.raises(CannotAdopt, match="orders-0 is in"):
        kafka.plan(second)
    with pytest.raises(CannotAdopt, match="cluster_metadata"):
        second.plan()


def test_a_deleted_topic_is_not_taken_over(kafka: KafkaDirectory) -> None:
    kafka.log(
        *topic("orders", ORDERS, 0),
        ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="5"),
        RemoveTopicRecord(topic_id=ORDERS),
        *topic("orders", EVENTS, 0),
    )
    kafka.partition("orders-0", EVENTS)
    (only,) = kafka.plan().topics
    assert (only.topic_id, only.config) == (EVENTS, {})


def test_what_is_not_known_here_is_told(kafka: KafkaDirectory) -> None:
    kafka.log(
        *topic("orders", ORDERS, 0),
        ConfigRecord(resource_type=2, resource_name="orders", name="remote.storage.enable", value="true"),
        ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="7"),
        ConfigRecord(resource_type=4, resource_name="3", name="log.cleaner.nonsense", value="1"),
        ConfigRecord(resource_type=16, resource_name="metrics", name="interval.ms", value="1"),
        ClientQuotaRecord(
            entity=[EntityData(entity_type="ip", entity_name="some.host")],
            key="connection_creation_rate",
            value=1.0,
        ),
    )
    kafka.partition("orders-0", ORDERS)
    adoption = kafka.plan()
    assert adoption.topics[0].config == {"retention.ms": "7"}
    told = "\n".join(adoption.left_out)
    for word in ("remote.storage.enable", "log.cleaner.nonsense", "metrics", "some.host"):
        assert word in told
    assert len(adoption.left_out) == 4


def properties(*lines: str) -> str:
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "lines", [("version=0", "broker.id=1"), ("version=1", "cluster.id=c"), ("version=1", "node.id=1")]
)
def test_a_directory_without_an_owner_is_refused(kafka: KafkaDirectory, lines: Sequence[str]) -> None:
    (kafka.path / "meta.properties").write_text(properties(*lines))
    with pytest.raises(CannotAdopt, match="KRaft"):
        kafka.plan()


def test_directories_of_two_brokers_are_refused(kafka: KafkaDirectory, tmp_path: Path) -> None:
    other = KafkaDirectory(tmp_path / "other")
    (other.path / "meta.properties").write_text(properties("cluster.id=kafkas", "node.id=4"))
    with pytest.raises(CannotAdopt, match="different"):
        kafka.plan(other)
