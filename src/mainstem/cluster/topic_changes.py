"""What a request to change topics leads to: pure decisions over an image.

Each function takes the image and one item of a request and returns the topic as it shall be, or
raises the error of that item. The controller writes what they return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mainstem.cluster.entries import MAX_PARTITIONS_PER_TOPIC
from mainstem.cluster.placement import check_assignment, new_partition, place_replicas
from mainstem.cluster.topic_names import INTERNAL_TOPICS, RESERVED_TOPIC, CollisionIndex, check_topic_name
from mainstem.config.broker import BrokerConfig
from mainstem.config.errors import ConfigError
from mainstem.config.topic import check_topic_overrides
from mainstem.core.errors import (
    BrokerNotAvailable,
    InvalidConfig,
    InvalidPartitionCount,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopicName,
    PolicyViolation,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from mainstem.core.image import ClusterImage, PartitionImage, TopicImage
from mainstem.core.ports import NewPartitions, NewTopic
from mainstem.model.ids import TopicId

MAX_PARTITIONS_PER_REQUEST = 10_000  # as Kafka: one request must not occupy the cluster for minutes


def created_topic(
    image: ClusterImage,
    requested: NewTopic,
    topic_id: TopicId,
    config: BrokerConfig,
    names: CollisionIndex,
    *,
    place: int,
    is_internal: bool = False,
) -> TopicImage:
    """`names` are all that exist, and those that the same request made before this one; `place` is how many
    those are: the leaders of one topic begin beside those of the topic before."""
    name = requested.name
    if name == RESERVED_TOPIC:
        raise InvalidRequest(f"{RESERVED_TOPIC} is reserved and cannot be created")
    check_topic_name(name)
    if name in image.topics:
        raise TopicAlreadyExists(f"topic '{name}' already exists")
    other = names.collision(name)
    if other is not None:
        raise InvalidTopicName(f"topic '{name}' collides with '{other}': '.' and '_' count as the same")
    options = _checked_options(requested.config, config)
    if not image.brokers:
        raise BrokerNotAvailable("no broker is registered to hold the topic")
    if requested.assignment:
        placed = _manual_placement(image, requested)
    else:
        placed = _automatic_placement(image, requested, config, place)
    partitions = _shared_partitions(placed, image)
    return TopicImage(name, topic_id, partitions, options, is_internal or name in INTERNAL_TOPICS)


def _checked_options(options: Mapping[str, str], config: BrokerConfig) -> dict[str, str]:
    try:
        return check_topic_overrides(options, config)
    except ConfigError as error:
        raise InvalidConfig(str(error)) from error


def _manual_placement(image: ClusterImage, requested: NewTopic) -> list[tuple[int, ...]]:
    if requested.replication_factor != -1:
        raise InvalidRequest("with an assignment of replicas the replication factor must be -1")
    if requested.partition_count != -1:
        raise InvalidRequest("with an assignment of replicas the number of partitions must be -1")
    assignment = requested.assignment
    if sorted(assignment) != list(range(len(assignment))):
        raise InvalidReplicaAssignment("the assigned partitions must be numbered from 0 without a gap")
    placed = [tuple(assignment[index]) for index in range(len(assignment))]
    for replicas in placed:
        check_assignment(replicas, image.brokers, len(placed[0]))
    return placed


def _automatic_placement(
    image: ClusterImage, requested: NewTopic, config: BrokerConfig, place: int
) -> list[tuple[int, ...]]:
    count, factor = requested.partition_count, requested.replication_factor
    if count == 0 or count < -1:
        raise InvalidPartitionCount(f"a topic cannot have {count} partitions; -1 asks for the default")
    if factor == 0 or factor < -1:
        raise InvalidReplicationFactor(f"a partition cannot have {factor} replicas; -1 asks for the default")
    if count == -1:
        count = config.num_partitions
    if factor == -1:
        factor = config.default_replication_factor
    _check_total(count)
    return place_replicas(image.brokers, count, factor, start=place)


def _check_total(count: int) -> None:
    if count > MAX_PARTITIONS_PER_TOPIC:
        raise InvalidPartitionCount(f"a topic has at most {MAX_PARTITIONS_PER_TOPIC} partitions, not {count}")


def _shared_partitions(placed: Sequence[tuple[int, ...]], image: ClusterImage) -> tuple[PartitionImage, ...]:
    made = {replicas: new_partition(replicas, image.brokers) for replicas in set(placed)}
    return tuple(made[replicas] for replicas in placed)


def requested_partition_count(requested: NewTopic, config: BrokerConfig) -> int:
    """How many partitions an item asks for, as far as it counts against the limit of a request."""
    if requested.assignment:
        return len(requested.assignment)
    return config.num_partitions if requested.partition_count == -1 else max(0, requested.partition_count)


def check_request_size(partition_count: int) -> None:
    if partition_count > MAX_PARTITIONS_PER_REQUEST:
        raise PolicyViolation(
            f"the request makes {partition_count} partitions, one request may make "
            f"{MAX_PARTITIONS_PER_REQUEST}: split it"
        )


def grown_topic(image: ClusterImage, requested: NewPartitions) -> TopicImage:
    """The topic with the partitions added."""
    topic = image.topics.get(requested.topic)
    if topic is None:
        raise UnknownTopicOrPartition(f"there is no topic '{requested.topic}'")
    present = len(topic.partitions)
    added = requested.total_count - present
    if added == 0:
        raise InvalidPartitionCount(f"topic '{topic.name}' has {present} partitions already")
    if added < 0:
        raise InvalidPartitionCount(
            f"topic '{topic.name}' has {present} partitions, they cannot become {requested.total_count}: "
            "partitions are never taken away"
        )
    _check_total(requested.total_count)
    factor = len(topic.partitions[0].replicas)
    if requested.assignment is None:
        placed = place_replicas(image.brokers, added, factor, start=present)
    else:
        if len(requested.assignment) != added:
            raise InvalidReplicaAssignment(
                f"{added} partitions are to be added, the assignment names {len(requested.assignment)}"
            )
        placed = [tuple(replicas) for replicas in requested.assignment]
        for replicas in placed:
            check_assignment(replicas, image.brokers, factor)
    partitions = topic.partitions + _shared_partitions(placed, image)
    return TopicImage(topic.name, topic.topic_id, partitions, topic.config, topic.is_internal)
