"""Checks of the APIs about groups that are like no other."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mainstem.core.identity.acl import CLUSTER_NAME, Operation, ResourceType
from mainstem.heads.kafka.apis.find_coordinator import FIRST_WITH_MANY_KEYS, GROUP, SHARE, TRANSACTION
from mainstem.heads.kafka.apis.offset_fetch import FIRST_WITH_SEVERAL_GROUPS, FIRST_WITH_TOPIC_IDS
from mainstem.heads.kafka.authorization.check import (
    DENIED,
    Asked,
    Need,
    Run,
    each,
    on_group,
    on_topic,
    refused_whole,
    split,
    whole,
)
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.model.ids import TopicId
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from mainstem.wire.kafka.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from mainstem.wire.kafka.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from mainstem.wire.kafka.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

_NO_OFFSET: Final = -1
_TOPIC_DENIED: Final = DENIED[ResourceType.TOPIC][0]
_GROUP_DENIED: Final = DENIED[ResourceType.GROUP][0]


def on_topic_or_id(operation: Operation) -> Need:
    """By its name, or by its id: an id that nobody has is no secret, the handler says so."""

    def need(context: RequestContext, topic: Any) -> Asked | None:
        name = topic.name or _name_of(context, topic.topic_id)
        return None if name is None else Asked(operation, ResourceType.TOPIC, name)

    return need


def _name_of(context: RequestContext, topic_id: bytes) -> str | None:
    topic = context.broker.image.topics_by_id.get(TopicId(topic_id))
    return None if topic is None else topic.name


# --- FindCoordinator

_OF_KEYS: Final[dict[int, Asked]] = {
    GROUP: Asked(Operation.DESCRIBE, ResourceType.GROUP, ""),
    TRANSACTION: Asked(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, ""),
    SHARE: Asked(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME),
}


async def find_coordinator(
    context: RequestContext, request: FindCoordinatorRequest, handler: Handler
) -> Message:
    asked = _OF_KEYS.get(request.key_type)

    def needed(_: RequestContext, key: str) -> Asked | None:
        return asked if asked is None or asked.name else asked._replace(name=key)

    if context.version >= FIRST_WITH_MANY_KEYS:
        return await each("coordinator_keys", needed, "coordinators")(context, request, handler)
    return await whole(lambda _, one: needed(_, one.key))(context, request, handler)


# --- ListGroups


async def list_groups(context: RequestContext, request: ListGroupsRequest, handler: Handler) -> Message:
    """All groups to who may describe the cluster; else those that one may describe."""
    response = await handler.handle(context, request)
    assert isinstance(response, ListGroupsResponse)
    if not context.may_on_cluster(Operation.DESCRIBE, is_quiet=True):
        response.groups = [
            group
            for group in response.groups
            if context.may(Operation.DESCRIBE, ResourceType.GROUP, group.group_id, is_quiet=True)
        ]
    return response


# --- OffsetFetch


async def offset_fetch(context: RequestContext, request: OffsetFetchRequest, handler: Handler) -> Message:
    """Describe on the group, and on the topics: those of a list of all are left out, named ones refused."""
    if context.version < FIRST_WITH_SEVERAL_GROUPS:
        return await _of_one_group(context, request, handler)
    refused: dict[str, list[OffsetFetchResponseTopics]] = {}
    groups: list[OffsetFetchRequestGroup] = []
    denied_groups: list[OffsetFetchResponseGroup] = []
    for group in request.groups:
        if not context.may(Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
            denied_groups.append(OffsetFetchResponseGroup(group_id=group.group_id, error_code=_GROUP_DENIED))
            continue
        if group.topics is not None:
            topics, denied = split(context, group.topics, on_topic_or_id(Operation.DESCRIBE))
            refused[group.group_id] = [_refused_topics(one) for part in denied.values() for one in part]
            groups.append(msgspec.structs.replace(group, topics=topics))
        else:
            groups.append(group)
    response = OffsetFetchResponse()
    if groups or not denied_groups:
        found = await handler.handle(context, msgspec.structs.replace(request, groups=groups))
        assert isinstance(found, OffsetFetchResponse)
        response = found
    for answer in response.groups:
        answer.topics = [topic for topic in answer.topics if _may_see(context, topic)]
        if answer.error_code == ErrorCode.NONE:
            answer.topics = [*answer.topics, *refused.get(answer.group_id, ())]
    response.groups = [*response.groups, *denied_groups]
    return response


async def _of_one_group(context: RequestContext, request: OffsetFetchRequest, handler: Handler) -> Message:
    denied_whole = refused_whole(context, request, handler, [on_group(Operation.DESCRIBE)])
    if denied_whole is not None:
        return denied_whole
    if request.topics is None:
        response = await handler.handle(context, request)
        assert isinstance(response, OffsetFetchResponse)
        response.topics = [
            topic
            for topic in response.topics
            if context.may(Operation.DESCRIBE, ResourceType.TOPIC, topic.name, is_quiet=True)
        ]
        return response
    topics, denied = split(context, request.topics, on_topic(Operation.DESCRIBE))
    response = await handler.handle(context, msgspec.structs.replace(request, topics=topics))
    assert isinstance(response, OffsetFetchResponse)
    refused = [_refused_topic(one) for part in denied.values() for one in part]
    response.topics = [*response.topics, *refused]
    return response


def _may_see(context: RequestContext, topic: OffsetFetchResponseTopics) -> bool:
    by_id = context.version >= FIRST_WITH_TOPIC_IDS
    name = _name_of(context, topic.topic_id) if by_id else topic.name
    return name is None or context.may(Operation.DESCRIBE, ResourceType.TOPIC, name, is_quiet=True)


def _refused_topic(topic: OffsetFetchRequestTopic) -> OffsetFetchResponseTopic:
    partitions = [
        OffsetFetchResponsePartition(
            partition_index=index, committed_offset=_NO_OFFSET, error_code=_TOPIC_DENIED
        )
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopic(name=topic.name, partitions=partitions)


def _refused_topics(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    partitions = [
        OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=_NO_OFFSET, error_code=_TOPIC_DENIED
        )
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


# --- OffsetDelete


async def offset_delete(context: RequestContext, request: OffsetDeleteRequest, handler: Handler) -> Message:
    """Delete on the group, for all of it; Read on each topic, answered beside its partitions."""
    denied_whole = refused_whole(context, request, handler, [on_group(Operation.DELETE)])
    if denied_whole is not None:
        return denied_whole
    allowed, denied = split(context, request.topics, on_topic(Operation.READ))
    response = await handler.handle(context, msgspec.structs.replace(request, topics=allowed))
    assert isinstance(response, OffsetDeleteResponse)
    for topic in (topic for part in denied.values() for topic in part):
        partitions = [
            OffsetDeleteResponsePartition(partition_index=each.partition_index, error_code=_TOPIC_DENIED)
            for each in topic.partitions
        ]
        response.topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    return response


offset_commit: Final[Run] = each("topics", on_topic_or_id(Operation.READ), "topics", on_group(Operation.READ))
