"""Taking over log directories that a Kafka broker wrote: their files stay where they are.

What Mainstem lacks to serve such directories is metadata: which topics there are, under which ids and with
which options, who may do what. Kafka keeps that in a log of its own; an *adoption* says what of it Mainstem
will have, and what it leaves out and why. Writing it makes a new metadata store; the directories are only
read. The next start then opens them as it opens its own after an unclean stop.

Each partition gets a leader epoch above Kafka's last, as after an election: what Mainstem appends can be told
from what Kafka appended. Producer ids begin above those that Kafka gave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mainstem.cluster import keys
from mainstem.cluster.entries import (
    ClusterEntry,
    ProducerIdEntry,
    encode_entry,
    encode_options,
    encode_quotas,
    encode_rules,
    encode_topic,
    encode_user,
)
from mainstem.cluster.errors import CannotAdopt
from mainstem.cluster.kraft.metadata import KafkaMetadata, KafkaTopic
from mainstem.cluster.kraft.metadata_log import FOLDER, read_metadata
from mainstem.cluster.metadata_writer import Change, parts_of
from mainstem.cluster.store import Compare, MetadataStore, Put
from mainstem.cluster.topic_names import INTERNAL_TOPICS
from mainstem.config.broker import BrokerConfig
from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.errors import ConfigError
from mainstem.config.topic import check_topic_overrides
from mainstem.core.errors import InvalidRequest
from mainstem.core.identity.acl import AccessRule, ResourcePattern
from mainstem.core.identity.credentials import SCRAM_MECHANISMS, UserCredentials
from mainstem.core.image import PartitionImage, TopicImage
from mainstem.core.quotas.entity import QuotaEntity, check_limit, checked_entity
from mainstem.log import meta_properties, partition_metadata
from mainstem.model.ids import TopicId, topic_id_text
from mainstem.ports.disk import Disk

_TOPIC: Final = 2  # types of resources that have options
_BROKER: Final = 4


@dataclass(slots=True)
class Adoption:
    cluster_id: str
    node_id: int
    directories: Sequence[str]
    topics: list[TopicImage] = field(default_factory=list)
    broker_options: dict[str, dict[str, str]] = field(default_factory=dict)  # by node id; "": of all
    quotas: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)
    rules: dict[ResourcePattern, tuple[AccessRule, ...]] = field(default_factory=dict)
    users: dict[str, UserCredentials] = field(default_factory=dict)
    next_producer_id: int = 0
    left_out: list[str] = field(default_factory=list)  # each with its reason, for the operator

    @property
    def partition_count(self) -> int:
        return sum(len(topic.partitions) for topic in self.topics)


def plan_adoption(
    disk: Disk, directories: Sequence[str], config: BrokerConfig, *, only_whole_topics: bool = False
) -> Adoption:
    """Reads the directories, which must be all log directories of one broker. Raises CannotAdopt."""
    cluster_id, node_id = _owner(disk, directories)
    adoption = Adoption(cluster_id, node_id, tuple(directories))
    metadata = KafkaMetadata.replayed(read_metadata(disk, _metadata_folder(disk, directories)))
    folders = _folders(disk, directories)
    missing: list[str] = []
    for topic in sorted(metadata.topics.values(), key=lambda topic: topic.name):
        absent = [index for index in topic.partitions if (topic.topic_id, index) not in folders]
        if absent:
            missing.append(_missing_text(topic, absent))
            continue
        options = _topic_options(adoption, topic, metadata.configs.get((_TOPIC, topic.name), {}), config)
        adoption.topics.append(_topic_image(topic, node_id, options))
    if missing and not only_whole_topics:
        raise CannotAdopt(
            f"these topics are not whole in the directories given: {'; '.join(missing)}",
            "name all log directories of the broker; move partitions that other brokers hold to this one "
            "first (kafka-reassign-partitions.sh), or leave such topics behind with --only-whole-topics",
        )
    adoption.left_out += [f"topic {text}" for text in missing]
    _take_broker_options(adoption, metadata, config)
    _take_quotas(adoption, metadata)
    _take_rules(adoption, metadata)
    _take_users(adoption, metadata)
    adoption.next_producer_id = metadata.next_producer_id
    return adoption


async def write_adoption(store: MetadataStore, adoption: Adoption) -> None:
    """Into a store that is empty. The cluster's id is written last: a store without it is not whole."""
    found = await store.range(keys.ROOT)
    if found.entries:
        raise CannotAdopt(
            "the metadata store knows a cluster already", "name a --data-dir that no broker has used yet"
        )
    changes = {key: Change(Put(key, value)) for key, value in _entries(adoption)}
    for part in parts_of(changes):
        await store.transact([], [change.operation for change in part.values()])
    cluster = Put(keys.CLUSTER, encode_entry(ClusterEntry(cluster_id=adoption.cluster_id)))
    await store.transact([Compare(keys.CLUSTER, exists=False)], [cluster])


def _entries(adoption: Adoption) -> Iterator[tuple[str, bytes]]:
    for topic in adoption.topics:
        yield keys.topic_key(topic.name), encode_topic(topic)
    for name, options in adoption.broker_options.items():
        yield keys.config_key("broker", name), encode_options(options)
    for entity, limits in adoption.quotas.items():
        yield keys.quota_key(entity), encode_quotas(entity, limits)
    for pattern, rules in adoption.rules.items():
        yield keys.acl_key(pattern), encode_rules(rules)
    for user, credentials in adoption.users.items():
        yield keys.user_key(user), encode_user(credentials)
    if adoption.next_producer_id:
        entry = ProducerIdEntry(next_producer_id=adoption.next_producer_id)
        yield keys.PRODUCER_IDS, encode_entry(entry)


# --- the directories


def _owner(disk: Disk, directories: Sequence[str]) -> tuple[str, int]:
    owners = set()
    for directory in directories:
        fields = meta_properties.read(disk, directory)
        cluster_id, node_id = fields.get("cluster.id"), fields.get("node.id", "")
        if cluster_id is None or not node_id.isdecimal():
            raise CannotAdopt(
                f"{directory}: its {meta_properties.FILE_NAME} names no cluster and node",
                "only directories of Kafka in KRaft mode (3.3 and later) can be taken over",
            )
        owners.add((cluster_id, int(node_id)))
    if len(owners) != 1:
        raise CannotAdopt(
            "the directories belong to different brokers or clusters", "take over one broker at a time"
        )
    return owners.pop()


def _metadata_folder(disk: Disk, directories: Sequence[str]) -> str:
    for directory in directories:
        if any(name == FOLDER for name, _ in disk.scan(directory)):
            return f"{directory}/{FOLDER}"
    raise CannotAdopt(
        f"none of the directories holds {FOLDER}, in which Kafka keeps its topics and their options",
        "name the broker's metadata.log.dir as well",
    )


def _folders(disk: Disk, directories: Sequence[str]) -> set[tuple[TopicId, int]]:
    found: dict[tuple[TopicId, int], str] = {}
    for directory in directories:
        for name, is_directory in disk.scan(directory):
            topic, _, number = name.rpartition("-")
            if not (is_directory and topic and number.isascii() and number.isdecimal()) or name == FOLDER:
                continue
            topic_id = partition_metadata.read(disk, f"{directory}/{name}")
            if topic_id is None:
                continue
            other = found.setdefault((topic_id, int(number)), directory)
            if other != directory:
                raise CannotAdopt(f"{name} is in {other} and in {directory}", "remove the older of the two")
    return set(found)


def _missing_text(topic: KafkaTopic, absent: Sequence[int]) -> str:
    numbers = ", ".join(str(index) for index in absent[:5]) + (", ..." if len(absent) > 5 else "")
    return f"{topic.name} (partition {numbers} of {len(topic.partitions)})"


# --- what is taken over


def _topic_image(topic: KafkaTopic, node_id: int, options: dict[str, str]) -> TopicImage:
    count = len(topic.partitions)
    if sorted(topic.partitions) != list(range(count)):
        raise CannotAdopt(
            f"topic {topic.name} ({topic_id_text(topic.topic_id)}) has partitions {sorted(topic.partitions)}",
            "the metadata log is damaged: take the directories of another broker",
        )
    partitions = tuple(
        PartitionImage((node_id,), (node_id,), node_id, topic.partitions[index].leader_epoch + 1)
        for index in range(count)
    )
    return TopicImage(topic.name, topic.topic_id, partitions, options, topic.name in INTERNAL_TOPICS)


def _topic_options(
    adoption: Adoption, topic: KafkaTopic, named: Mapping[str, str], config: BrokerConfig
) -> dict[str, str]:
    taken: dict[str, str] = {}
    for name, value in named.items():
        try:
            taken = check_topic_overrides({**taken, name: value}, config)
        except ConfigError as error:
            adoption.left_out.append(f"option of topic {topic.name}: {error}")
    return taken


def _take_broker_options(adoption: Adoption, metadata: KafkaMetadata, config: BrokerConfig) -> None:
    for (kind, resource), named in metadata.configs.items():
        if kind != _BROKER:
            if kind != _TOPIC and named:
                adoption.left_out.append(
                    f"options of {resource or 'all'} (resource type {kind}): not known here"
                )
            continue
        if resource not in ("", str(adoption.node_id)):
            continue
        taken: dict[str, str] = {}
        for name, value in named.items():
            option = BROKER_OPTIONS.get(name)
            try:
                if option is None or not option.is_dynamic:
                    raise ConfigError(
                        name, value, "is not an option that is changed at run time here", "see docs"
                    )
                config.with_dynamic({**taken, name: value})
                taken[name] = value
            except ConfigError as error:
                adoption.left_out.append(f"option of broker {resource or '(all)'}: {error}")
        if taken:
            adoption.broker_options[resource] = taken


def _take_quotas(adoption: Adoption, metadata: KafkaMetadata) -> None:
    for parts, limits in metadata.quotas.items():
        try:
            entity = checked_entity(parts)
            adoption.quotas[entity] = {
                name: check_limit(entity, name, value) for name, value in limits.items()
            }
        except InvalidRequest as error:
            adoption.left_out.append(f"quota of {dict(parts)}: {error}")


def _take_rules(adoption: Adoption, metadata: KafkaMetadata) -> None:
    by_pattern: dict[ResourcePattern, dict[AccessRule, None]] = {}
    for pattern, rule in metadata.rules.values():
        by_pattern.setdefault(pattern, {})[rule] = None
    adoption.rules.update({pattern: tuple(rules) for pattern, rules in by_pattern.items()})


def _take_users(adoption: Adoption, metadata: KafkaMetadata) -> None:
    """A password is kept by Kafka as here: as salted keys, from which nobody can read it."""
    names = {mechanism.wire_type: mechanism.name for mechanism in SCRAM_MECHANISMS.values()}
    for user, credentials in metadata.users.items():
        taken = {names[kind]: credential for kind, credential in credentials.items() if kind in names}
        if taken:
            adoption.users[user] = taken
