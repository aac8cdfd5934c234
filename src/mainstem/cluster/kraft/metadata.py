"""What Kafka's metadata records come to, replayed in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from mainstem.core.identity.acl import (
    AccessRule,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.core.identity.credentials import ScramCredential
from mainstem.model.ids import TopicId
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.metadata.access_control_entry_record import AccessControlEntryRecord
from mainstem.wire.kafka.metadata.client_quota_record import ClientQuotaRecord
from mainstem.wire.kafka.metadata.config_record import ConfigRecord
from mainstem.wire.kafka.metadata.partition_change_record import PartitionChangeRecord
from mainstem.wire.kafka.metadata.partition_record import PartitionRecord
from mainstem.wire.kafka.metadata.producer_ids_record import ProducerIdsRecord
from mainstem.wire.kafka.metadata.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from mainstem.wire.kafka.metadata.remove_topic_record import RemoveTopicRecord
from mainstem.wire.kafka.metadata.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from mainstem.wire.kafka.metadata.topic_record import TopicRecord
from mainstem.wire.kafka.metadata.user_scram_credential_record import UserScramCredentialRecord

_NO_LEADER_CHANGE = -2


@dataclass(slots=True)
class KafkaPartition:
    replicas: list[int]
    leader_epoch: int


@dataclass(slots=True)
class KafkaTopic:
    name: str
    topic_id: TopicId
    partitions: dict[int, KafkaPartition] = field(default_factory=dict)


QuotaParts = tuple[tuple[str, str | None], ...]


@dataclass(slots=True)
class KafkaMetadata:
    topics: dict[TopicId, KafkaTopic] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)  # by type and name
    quotas: dict[QuotaParts, dict[str, float]] = field(default_factory=dict)
    rules: dict[bytes, tuple[ResourcePattern, AccessRule]] = field(default_factory=dict)
    users: dict[str, dict[int, ScramCredential]] = field(default_factory=dict)  # by name and mechanism
    next_producer_id: int = 0

    @classmethod
    def replayed(cls, records: Iterable[Message]) -> KafkaMetadata:
        metadata = cls()
        for record in records:
            take = _TAKES.get(type(record))
            if take is not None:
                take(metadata, record)
        return metadata

    def take_topic(self, record: TopicRecord) -> None:
        topic_id = TopicId(record.topic_id)
        self.topics[topic_id] = KafkaTopic(record.name, topic_id)

    def take_partition(self, record: PartitionRecord) -> None:
        topic = self.topics[TopicId(record.topic_id)]
        topic.partitions[record.partition_id] = KafkaPartition(list(record.replicas), record.leader_epoch)

    def take_partition_change(self, record: PartitionChangeRecord) -> None:
        partition = self.topics[TopicId(record.topic_id)].partitions[record.partition_id]
        if record.replicas is not None:
            partition.replicas = list(record.replicas)
        if record.leader != _NO_LEADER_CHANGE:
            partition.leader_epoch += 1

    def take_topic_removal(self, record: RemoveTopicRecord) -> None:
        topic = self.topics.pop(TopicId(record.topic_id), None)
        if topic is not None:
            self.configs.pop((2, topic.name), None)

    def take_config(self, record: ConfigRecord) -> None:
        options = self.configs.setdefault((record.resource_type, record.resource_name), {})
        if record.value is None:
            options.pop(record.name, None)
        else:
            options[record.name] = record.value

    def take_quota(self, record: ClientQuotaRecord) -> None:
        parts = tuple(sorted((part.entity_type, part.entity_name) for part in record.entity))
        limits = self.quotas.setdefault(parts, {})
        if record.remove:
            limits.pop(record.key, None)
        else:
            limits[record.key] = record.value
        if not limits:
            del self.quotas[parts]

    def take_producer_ids(self, record: ProducerIdsRecord) -> None:
        self.next_producer_id = max(self.next_producer_id, record.next_producer_id)

    def take_rule(self, record: AccessControlEntryRecord) -> None:
        pattern = ResourcePattern(
            ResourceType(record.resource_type), record.resource_name, PatternType(record.pattern_type)
        )
        rule = AccessRule(
            record.principal, record.host, Operation(record.operation), Permission(record.permission_type)
        )
        self.rules[record.id] = (pattern, rule)

    def take_rule_removal(self, record: RemoveAccessControlEntryRecord) -> None:
        self.rules.pop(record.id, None)

    def take_user(self, record: UserScramCredentialRecord) -> None:
        credential = ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)
        self.users.setdefault(record.name, {})[record.mechanism] = credential

    def take_user_removal(self, record: RemoveUserScramCredentialRecord) -> None:
        self.users.get(record.name, {}).pop(record.mechanism, None)


_TAKES: dict[type[Message], Callable[[KafkaMetadata, Any], None]] = {
    TopicRecord: KafkaMetadata.take_topic,
    PartitionRecord: KafkaMetadata.take_partition,
    PartitionChangeRecord: KafkaMetadata.take_partition_change,
    RemoveTopicRecord: KafkaMetadata.take_topic_removal,
    ConfigRecord: KafkaMetadata.take_config,
    ClientQuotaRecord: KafkaMetadata.take_quota,
    ProducerIdsRecord: KafkaMetadata.take_producer_ids,
    AccessControlEntryRecord: KafkaMetadata.take_rule,
    RemoveAccessControlEntryRecord: KafkaMetadata.take_rule_removal,
    UserScramCredentialRecord: KafkaMetadata.take_user,
    RemoveUserScramCredentialRecord: KafkaMetadata.take_user_removal,
}
