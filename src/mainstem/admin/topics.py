"""/v1/topics: what there is, with sizes and offsets, and its life from creation to deletion."""

from __future__ import annotations

from typing import Final

import msgspec

from mainstem.admin.errors import BAD_REQUEST, CONFLICT, NOT_FOUND, UNAVAILABLE, Refusal
from mainstem.admin.node import Node
from mainstem.admin.operations import CREATED, NO_CONTENT, OK, Answer, Call, Operation, Parameter
from mainstem.admin.slices import Slices
from mainstem.core.errors import UnknownTopicOrPartition
from mainstem.core.image import TopicImage
from mainstem.core.partition import Partition
from mainstem.core.ports import ConfigChange, ConfigResource, NewTopic
from mainstem.model.ids import topic_id_text

_LIMIT: Final = Parameter("limit", "How many to list, 1 to 10000.", minimum=1, maximum=10_000, default="1000")
_AFTER: Final = Parameter("after", "List those whose names come after this one.")
_INTERNAL: Final = Parameter(
    "internal",
    "Whether internal topics are listed: true or false.",
    default="true",
    choices=("true", "false"),
)
_NAME: Final = Parameter("name", "The topic.", place="path")


class TopicSummary(msgspec.Struct, frozen=True):
    name: str
    topic_id: str
    is_internal: bool
    partition_count: int
    replication_factor: int
    size_bytes: int  # of the partitions that this node leads, as are all that follow
    record_count: int  # that can be read
    messages_in: int  # since the start, as are those below
    bytes_in: int
    bytes_out: int


class TopicList(msgspec.Struct, frozen=True):
    topics: list[TopicSummary]
    total_count: int
    next_after: str | None  # there are more: ask with `after`


class PartitionState(msgspec.Struct, frozen=True, kw_only=True):
    partition: int
    leader: int  # -1: none
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline_reason: str | None = None
    log_start_offset: int | None = None  # None where another node leads, as below
    high_watermark: int | None = None
    log_end_offset: int | None = None
    size_bytes: int | None = None
    segment_count: int | None = None


class TopicDetail(msgspec.Struct, frozen=True):
    name: str
    topic_id: str
    is_internal: bool
    config: dict[str, str]  # what was set on the topic
    partitions: list[PartitionState]


class TopicRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    partitions: int = -1  # -1: the broker's default, as below
    replication_factor: int = -1
    config: dict[str, str] = {}


class TopicChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    config: dict[str, str | None]  # null takes a setting back


async def list_topics(call: Call) -> Answer:
    limit, after = call.number(_LIMIT), call.query.get("after", "")
    with_internal = call.choice(_INTERNAL) == "true"
    known = call.node.broker.image.topics
    names = sorted(name for name, topic in known.items() if with_internal or not topic.is_internal)
    following = [name for name in names if name > after]
    listed: list[TopicSummary] = []
    slices = Slices()
    for name in following[:limit]:
        listed.append(_summary(call.node, known[name]))
        await slices.pause()
    next_after = listed[-1].name if len(following) > limit else None
    return Answer(TopicList(listed, len(names), next_after))


def _summary(node: Node, topic: TopicImage) -> TopicSummary:
    led = _led(node, topic)
    return TopicSummary(
        name=topic.name,
        topic_id=topic_id_text(topic.topic_id),
        is_internal=topic.is_internal,
        partition_count=len(topic.partitions),
        replication_factor=len(topic.partitions[0].replicas),
        size_bytes=sum(partition.log.size_bytes for partition in led),
        record_count=sum(partition.high_watermark - partition.log_start_offset for partition in led),
        messages_in=sum(partition.messages_in for partition in led),
        bytes_in=sum(partition.bytes_in for partition in led),
        bytes_out=sum(partition.bytes_out for partition in led),
    )


def _led(node: Node, topic: TopicImage) -> list[Partition]:
    partitions = node.broker.replicas.partitions
    found = (partitions.get((topic.name, index)) for index in range(len(topic.partitions)))
    return [partition for partition in found if partition is not None]


async def describe_topic(call: Call) -> Answer:
    return Answer(await _detail(call.node, _known(call.node, call.path["name"])))


def _known(node: Node, name: str) -> TopicImage:
    topic = node.broker.image.topics.get(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"there is no topic {name!r}")
    return topic


async def _detail(node: Node, topic: TopicImage) -> TopicDetail:
    partitions: list[PartitionState] = []
    slices = Slices()
    for index in range(len(topic.partitions)):
        partitions.append(_state(node, topic, index))
        await slices.pause()
    return TopicDetail(
        topic.name, topic_id_text(topic.topic_id), topic.is_internal, dict(topic.config), partitions
    )


def _state(node: Node, topic: TopicImage, index: int) -> PartitionState:
    state = topic.partitions[index]
    replicas = node.broker.replicas
    partition = replicas.partitions.get((topic.name, index))
    log = partition.log if partition is not None else None
    return PartitionState(
        partition=index,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        replicas=list(state.replicas),
        isr=list(state.isr),
        offline_reason=replicas.failed.get((topic.name, index)),
        log_start_offset=log.log_start_offset if log else None,
        high_watermark=partition.high_watermark if partition else None,
        log_end_offset=log.log_end_offset if log else None,
        size_bytes=log.size_bytes if log else None,
        segment_count=len(log.segments) if log else None,
    )


async def create_topic(call: Call) -> Answer:
    wanted: TopicRequest = call.body
    new = NewTopic(wanted.name, wanted.partitions, wanted.replication_factor, config=dict(wanted.config))
    made = (await call.node.broker.admin.create_topics([new]))[wanted.name]
    if isinstance(made, Exception):
        raise made
    return Answer(await _detail(call.node, made), CREATED, location=f"/v1/topics/{made.name}")


async def delete_topic(call: Call) -> Answer:
    topic = _known(call.node, call.path["name"])
    if topic.is_internal:
        raise Refusal(
            CONFLICT,
            "internal_topic",
            f"{topic.name} keeps the broker's own state.",
            "Delete groups through /v1/groups instead.",
        )
    error = (await call.node.broker.admin.delete_topics([topic.topic_id]))[topic.topic_id]
    if error is not None:
        raise error
    return Answer(None, NO_CONTENT)


async def change_topic(call: Call) -> Answer:
    topic = _known(call.node, call.path["name"])
    change: TopicChange = call.body
    resource = ConfigResource("topic", topic.name)
    changes = [
        ConfigChange(name, "delete") if value is None else ConfigChange(name, "set", value)
        for name, value in change.config.items()
    ]
    error = (await call.node.broker.admin.alter_configs({resource: changes}))[resource]
    if error is not None:
        raise error
    return Answer(await _detail(call.node, _known(call.node, topic.name)))


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/topics",
        "List topics in order of their names",
        list_topics,
        {OK: TopicList},
        parameters=(_LIMIT, _AFTER, _INTERNAL),
        errors=(BAD_REQUEST,),
        tag="topics",
    ),
    Operation(
        "POST",
        "/v1/topics",
        "Create a topic",
        create_topic,
        {CREATED: TopicDetail},
        body=TopicRequest,
        errors=(BAD_REQUEST, CONFLICT, UNAVAILABLE),
        tag="topics",
    ),
    Operation(
        "GET",
        "/v1/topics/{name}",
        "Describe a topic and its partitions",
        describe_topic,
        {OK: TopicDetail},
        parameters=(_NAME,),
        errors=(NOT_FOUND,),
        tag="topics",
    ),
    Operation(
        "PATCH",
        "/v1/topics/{name}",
        "Change settings of a topic, all or none",
        change_topic,
        {OK: TopicDetail},
        body=TopicChange,
        parameters=(_NAME,),
        errors=(BAD_REQUEST, NOT_FOUND, UNAVAILABLE),
        tag="topics",
    ),
    Operation(
        "DELETE",
        "/v1/topics/{name}",
        "Delete a topic and its records",
        delete_topic,
        {NO_CONTENT: None},
        parameters=(_NAME,),
        errors=(NOT_FOUND, CONFLICT, UNAVAILABLE),
        tag="topics",
    ),
)
