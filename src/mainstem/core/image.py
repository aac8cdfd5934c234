"""The metadata image: what a node knows of the cluster at one revision, and never changes.

The cluster room builds images from the metadata store; everyone else reads them. A change arrives
as a `MetadataDelta` together with the image it leads to, so that a reader holds a consistent view
for as long as it keeps the reference and never takes a lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mainstem.core.identity.acl import AccessRules
from mainstem.core.identity.credentials import UserCredentials
from mainstem.core.quotas.entity import QuotaEntity
from mainstem.model.ids import TopicId

_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PartitionImage:
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int  # -1: nobody leads
    leader_epoch: int  # grows with each change of leader
    partition_epoch: int = 0  # grows with each change of this entry


@dataclass(frozen=True, slots=True)
class TopicImage:
    name: str
    topic_id: TopicId
    partitions: tuple[PartitionImage, ...]  # index = partition number, no gaps
    # only what was set on the topic, under Kafka's names
    config: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    is_internal: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address under which a node is reached, by the name of its listener."""

    name: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class BrokerImage:
    node_id: int
    host: str
    port: int
    rack: str | None = None
    epoch: int = 0  # the store's revision of this registration: grows with each
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterImage:
    cluster_id: str
    revision: int  # of the metadata store
    controller_id: int
    brokers: Mapping[int, BrokerImage]
    topics: Mapping[str, TopicImage]
    topics_by_id: Mapping[TopicId, TopicImage]
    # dynamic broker options: "" is the cluster-wide default, "1" is node 1
    broker_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # dynamic options of other resources by type name ("group", "client-metrics"), then by name
    other_configs: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    acls: AccessRules = field(default_factory=dict)
    users: Mapping[str, UserCredentials] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class MetadataDelta:
    """What changed from one image to the next. A topic made anew is in both removed and created."""

    created: tuple[TopicImage, ...] = ()
    changed: tuple[TopicImage, ...] = ()  # partitions added, leader or config changed
    removed: tuple[TopicImage, ...] = ()  # the old image of each
    brokers_changed: bool = False
    broker_configs_changed: bool = False
    other_configs_changed: bool = False
    quotas_changed: bool = False
    acls_changed: bool = False
    controller_changed: bool = False
