"""What the core asks of the rooms above it, so that it need not know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from mainstem.core.identity.acl import AclBinding
from mainstem.core.identity.acl_filter import AclFilter
from mainstem.core.identity.credentials import ScramCredential
from mainstem.core.image import ClusterImage, TopicImage
from mainstem.core.quotas.entity import QuotaEntity
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicId, TopicPartition


@dataclass(frozen=True, slots=True)
class NewTopic:
    name: str
    partition_count: int = -1  # -1: the broker's default, or what `assignment` says
    replication_factor: int = -1  # -1: the broker's default, or what `assignment` says
    assignment: Mapping[int, Sequence[int]] = field(default_factory=dict)  # partition -> node ids
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewPartitions:
    topic: str
    total_count: int
    assignment: Sequence[Sequence[int]] | None = None  # of the added ones


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One option's change; a resource's changes are applied together or not at all."""

    name: str
    operation: str  # "set", "delete", "append", "subtract"
    value: str | None = None


@dataclass(frozen=True, slots=True)
class ConfigResource:
    kind: str  # "topic", "broker", "group"
    name: str  # for a broker: its node id, or "" for the cluster-wide default


class QuotaChange(NamedTuple):
    name: str
    value: float | None  # None: no limit any more


class Reassignment(NamedTuple):
    """A partition whose replicas are being moved."""

    topic_partition: TopicPartition
    replicas: Sequence[int]  # all, those that come and those that go included
    adding: Sequence[int]
    removing: Sequence[int]


class CredentialChange(NamedTuple):
    mechanism: str
    credential: ScramCredential | None  # None takes it away


class TopicAdmin(Protocol):
    """Changes of metadata. Each call answers per item: the result, or the error of that item.

    A returned success is durable in the metadata store and already visible in this node's image.
    """

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False, is_internal: bool = False
    ) -> dict[str, TopicImage | MainstemError]: ...

    async def delete_topics(self, topic_ids: Sequence[TopicId]) -> dict[TopicId, MainstemError | None]: ...

    async def create_partitions(
        self, requests: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> dict[str, MainstemError | None]: ...

    async def alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool = False
    ) -> dict[ConfigResource, MainstemError | None]: ...

    async def replace_configs(
        self, configs: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool = False
    ) -> dict[ConfigResource, MainstemError | None]:
        """The old AlterConfigs: what is not named goes back to its default."""
        ...

    async def alter_users(
        self, changes: Mapping[str, Sequence[CredentialChange]]
    ) -> dict[str, MainstemError | None]:
        """What users log in with, by their names. A user without any credential left is gone."""
        ...

    async def alter_quotas(
        self, changes: Mapping[QuotaEntity, Sequence[QuotaChange]], *, validate_only: bool = False
    ) -> dict[QuotaEntity, MainstemError | None]: ...

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition] | None, *, unclean: bool = False
    ) -> dict[TopicPartition, MainstemError | None]:
        """None: every partition that needs an election; those that need none are then left out."""
        ...

    async def alter_reassignments(
        self, reassignments: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, MainstemError | None]:
        """None as replicas cancels the reassignment of that partition."""
        ...

    def list_reassignments(self, partitions: Sequence[TopicPartition] | None) -> Sequence[Reassignment]:
        """Those of the partitions (None: of all) whose replicas are being moved."""
        ...

    async def allocate_producer_ids(self, count: int) -> range:
        """A block of producer ids that nobody else has or will have."""
        ...


class AclAdmin(Protocol):
    """Changes of access rules, answered per item; a success is in force on this node."""

    async def create_acls(self, bindings: Sequence[AclBinding]) -> list[MainstemError | None]:
        """A rule that is there already is made again without an error."""
        ...

    async def delete_acls(self, filters: Sequence[AclFilter]) -> list[Sequence[AclDeletion] | MainstemError]:
        """For each filter all that it takes."""
        ...


class AclDeletion(NamedTuple):
    binding: AclBinding
    error: MainstemError | None = None


class MetadataSource(Protocol):
    """Where the newest image is."""

    @property
    def image(self) -> ClusterImage: ...
