"""Metadata: which nodes there are, which topics, and who leads their partitions.

What a client asks for says which topics are meant: no list (in version 0 an empty one) means all, an id
means the topic that has it, a name that nobody has may bring the topic into being.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final

from mainstem.core.broker import Broker
from mainstem.core.errors import InvalidRequest, TopicAlreadyExists
from mainstem.core.groups.coordinator import OFFSETS_TOPIC
from mainstem.core.groups.offsets_topic import ensure_offsets_topic
from mainstem.core.image import ClusterImage, PartitionImage, TopicImage
from mainstem.core.ports import NewTopic
from mainstem.core.slices import Slices
from mainstem.core.transactions.coordinator import TRANSACTIONS_TOPIC
from mainstem.core.transactions.state_topic import ensure_transactions_topic
from mainstem.heads.kafka.authorized_operations import (
    OPERATIONS_NOT_ASKED_FOR,
    cluster_operations,
    topic_operations,
)
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.endpoints import node_address
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.model.ids import ZERO_TOPIC_ID, TopicId
from mainstem.wire.kafka.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

FIRST_WITH_IDS: Final = 12  # versions 10 and 11 have the field, but Kafka never served it there
_FIRST_WITH_NULL_FOR_ALL: Final = 1
_NOBODY: Final = -1

_INTERNAL_TOPICS: Final[Mapping[str, Callable[[Broker], Awaitable[TopicImage]]]] = {
    OFFSETS_TOPIC: ensure_offsets_topic,
    TRANSACTIONS_TOPIC: ensure_transactions_topic,
}


async def handle(context: RequestContext, request: MetadataRequest) -> MetadataResponse:
    broker = context.broker
    wanted = request.topics
    _check(wanted, context.version)
    slices = Slices()
    found: list[TopicImage] = []
    missing: list[MetadataResponseTopic] = []
    if wanted is None or (not wanted and context.version < _FIRST_WITH_NULL_FOR_ALL):
        found = list(broker.image.topics.values())
    elif any(topic.topic_id != ZERO_TOPIC_ID for topic in wanted):
        _find_by_id(broker.image, wanted, found, missing)
    else:
        names = dict.fromkeys(topic.name or "" for topic in wanted)
        await _find_by_name(broker, names, request.allow_auto_topic_creation, found, missing)
    image = broker.image
    operations = OPERATIONS_NOT_ASKED_FOR
    topics = missing
    for topic in found:
        await slices.pause()
        if request.include_topic_authorized_operations:
            operations = topic_operations(context, topic.name)
        topics.append(_described(topic, image.brokers, operations))
    return MetadataResponse(
        brokers=_brokers(image, context.listener),
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        topics=topics,
        cluster_authorized_operations=(
            cluster_operations(context)
            if request.include_cluster_authorized_operations
            else OPERATIONS_NOT_ASKED_FOR
        ),
    )


def _check(wanted: Sequence[MetadataRequestTopic] | None, version: int) -> None:
    if wanted is None or version >= FIRST_WITH_IDS:
        return
    if any(topic.topic_id != ZERO_TOPIC_ID or topic.name is None for topic in wanted):
        raise InvalidRequest(f"topics go by their names in version {version}; ids come with {FIRST_WITH_IDS}")


def _find_by_id(
    image: ClusterImage,
    wanted: Sequence[MetadataRequestTopic],
    found: list[TopicImage],
    missing: list[MetadataResponseTopic],
) -> None:
    for topic_id in dict.fromkeys(topic.topic_id for topic in wanted if topic.topic_id != ZERO_TOPIC_ID):
        topic = image.topics_by_id.get(TopicId(topic_id))
        if topic is not None:
            found.append(topic)
        else:
            missing.append(
                MetadataResponseTopic(
                    error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id, partitions=[]
                )
            )


async def _find_by_name(
    broker: Broker,
    names: Collection[str],
    may_create: bool,
    found: list[TopicImage],
    missing: list[MetadataResponseTopic],
) -> None:
    topics = broker.image.topics
    unknown = [name for name in names if name not in topics]
    errors: dict[str, MainstemError] = {}
    if unknown and may_create and broker.config.auto_create_topics_enable:
        errors = await _create(broker, unknown)
        topics = broker.image.topics
    for name in names:
        topic = topics.get(name)
        if topic is not None:
            found.append(topic)
            continue
        error = errors.get(name)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if error is None else error_code(error)
        missing.append(MetadataResponseTopic(error_code=code, name=name))


async def _create(broker: Broker, names: Sequence[str]) -> dict[str, MainstemError]:
    """Makes topics with the broker's defaults; the errors of those that could not be made."""
    errors: dict[str, MainstemError] = {}
    ordinary = []
    for name in names:
        ensure = _INTERNAL_TOPICS.get(name)
        if ensure is None:
            ordinary.append(name)
            continue
        try:
            await ensure(broker)
        except MainstemError as error:
            errors[name] = error
    if ordinary:
        outcomes = await broker.admin.create_topics([NewTopic(name) for name in ordinary])
        for name, outcome in outcomes.items():
            if isinstance(outcome, MainstemError) and not isinstance(outcome, TopicAlreadyExists):
                errors[name] = outcome
    return errors


def _brokers(image: ClusterImage, listener: str) -> list[MetadataResponseBroker]:
    addresses = [node_address(image.brokers[node_id], listener) for node_id in sorted(image.brokers)]
    return [
        MetadataResponseBroker(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack)
        for each in addresses
    ]


def _described(topic: TopicImage, live: Collection[int], operations: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[_partition(index, state, live) for index, state in enumerate(topic.partitions)],
        topic_authorized_operations=operations,
    )


def _partition(index: int, state: PartitionImage, live: Collection[int]) -> MetadataResponsePartition:
    has_leader = state.leader in live
    return MetadataResponsePartition(
        error_code=ErrorCode.NONE if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=state.leader if has_leader else _NOBODY,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        offline_replicas=[node_id for node_id in state.replicas if node_id not in live],
    )


def refuse(request: MetadataRequest, code: ErrorCode, message: str) -> MetadataResponse:  # noqa: ARG001
    """The error of each topic that was asked for: most versions have no place for one of the whole."""
    return MetadataResponse(
        error_code=code,
        topics=[
            MetadataResponseTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.topics or ()
        ],
    )


HANDLER: Final = Handler(key=3, min_version=0, max_version=13, handle=handle, refuse=refuse)
