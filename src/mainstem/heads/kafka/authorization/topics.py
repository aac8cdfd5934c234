"""Checks of the APIs about topics that are like no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from mainstem.core.identity.acl import Operation, ResourceType
from mainstem.heads.kafka.authorization.check import DENIED, on_topic, refusal, split
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.model.ids import ZERO_TOPIC_ID, TopicId
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from mainstem.wire.kafka.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from mainstem.wire.kafka.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

_DENIED: Final = DENIED[ResourceType.TOPIC]
_DENIED_CODE, _DENIED_MESSAGE = _DENIED
_NOBODY_SAYS: Final = -1


def may_with_topic(
    context: RequestContext, operation: Operation, name: str, *, is_quiet: bool = False
) -> bool:
    return context.may(operation, ResourceType.TOPIC, name, is_quiet=is_quiet)


# --- Metadata


async def metadata(context: RequestContext, request: MetadataRequest, handler: Handler) -> Message:
    """Topics that one may not describe are left out of a list of all, and refused where they are named.

    A topic that is not there and may be brought into being needs the permission to create it too.
    """
    wanted = request.topics
    if wanted is None or (not wanted and context.version == 0):
        response = await handler.handle(context, request)
        assert isinstance(response, MetadataResponse)
        response.topics = [topic for topic in response.topics if _may_see(context, topic.name)]
        return response
    may_create_any = context.may_on_cluster(Operation.CREATE, is_quiet=True)
    allowed: list[MetadataRequestTopic] = []
    denied: list[MetadataResponseTopic] = []
    for topic in wanted:
        name = topic.name if topic.topic_id == ZERO_TOPIC_ID else _name_of(context, topic.topic_id)
        if name is None:
            allowed.append(topic)  # nobody has it: that is no secret
        elif not may_with_topic(context, Operation.DESCRIBE, name) or not (
            may_create_any or _exists_or_may_be_created(context, request, name)
        ):
            shown = name if topic.topic_id == ZERO_TOPIC_ID else None
            denied.append(MetadataResponseTopic(error_code=_DENIED_CODE, name=shown, topic_id=topic.topic_id))
        else:
            allowed.append(topic)
    asked = request if not denied else msgspec.structs.replace(request, topics=allowed)
    response = await handler.handle(context, asked)
    assert isinstance(response, MetadataResponse)
    # In version 0 an empty list asks for all topics: then there is nothing that may be told.
    found = response.topics if allowed or context.version > 0 else []
    response.topics = [*found, *_once(denied)]
    return response


def _may_see(context: RequestContext, name: str | None) -> bool:
    return name is not None and may_with_topic(context, Operation.DESCRIBE, name, is_quiet=True)


def _exists_or_may_be_created(context: RequestContext, request: MetadataRequest, name: str) -> bool:
    if name in context.broker.image.topics:
        return True
    if not (request.allow_auto_topic_creation and context.broker.config.auto_create_topics_enable):
        return True  # it is not going to be created
    return may_with_topic(context, Operation.CREATE, name)


def _once(denied: Sequence[MetadataResponseTopic]) -> list[MetadataResponseTopic]:
    return list({(topic.name, topic.topic_id): topic for topic in denied}.values())


def _name_of(context: RequestContext, topic_id: bytes) -> str | None:
    topic = context.broker.image.topics_by_id.get(TopicId(topic_id))
    return None if topic is None else topic.name


# --- CreateTopics


async def create_topics(context: RequestContext, request: CreateTopicsRequest, handler: Handler) -> Message:
    """Create on the cluster, or on the topic. The configuration is told to who may describe that."""
    allowed, refused = list(request.topics), []
    if not context.may_on_cluster(Operation.CREATE, is_quiet=True):
        allowed, denied = split(context, request.topics, on_topic(Operation.CREATE))
        refused = denied.get(_DENIED, [])
    response = CreateTopicsResponse()
    if allowed or not refused:
        asked = msgspec.structs.replace(request, topics=allowed)
        made = await handler.handle(context, asked)
        assert isinstance(made, CreateTopicsResponse)
        response = made
        _hide_configurations(context, response)
    if refused:
        answer = refusal(handler, context.version, msgspec.structs.replace(request, topics=refused), *_DENIED)
        assert isinstance(answer, CreateTopicsResponse)
        response.topics = [*response.topics, *answer.topics]
    return response


def _hide_configurations(context: RequestContext, response: CreateTopicsResponse) -> None:
    for topic in response.topics:
        if topic.error_code == ErrorCode.NONE and not may_with_topic(
            context, Operation.DESCRIBE_CONFIGS, topic.name, is_quiet=True
        ):
            topic.configs = None
            topic.topic_config_error_code = _DENIED_CODE
            topic.num_partitions = topic.replication_factor = _NOBODY_SAYS


# --- DeleteTopics


async def delete_topics(context: RequestContext, request: DeleteTopicsRequest, handler: Handler) -> Message:
    """Delete on the cluster, or on the topic. The name behind an id is told to who may describe it."""
    if context.may_on_cluster(Operation.DELETE, is_quiet=True):
        return await handler.handle(context, request)
    names: list[str] = []
    states: list[DeleteTopicState] = []
    refused: list[DeletableTopicResult] = []
    for name in request.topic_names:
        if _may_delete(context, name):
            names.append(name)
        else:
            refused.append(_undeletable(name, ZERO_TOPIC_ID))
    for state in request.topics:
        name_behind = state.name if state.name is not None else _name_of(context, state.topic_id)
        if name_behind is None or _may_delete(context, name_behind):
            states.append(state)
        elif state.name is not None or may_with_topic(
            context, Operation.DESCRIBE, name_behind, is_quiet=True
        ):
            refused.append(_undeletable(name_behind, state.topic_id))
        else:
            refused.append(_undeletable(None, state.topic_id))
    if not refused:
        return await handler.handle(context, request)
    response = DeleteTopicsResponse()
    if names or states:
        asked = msgspec.structs.replace(request, topic_names=names, topics=states)
        deleted = await handler.handle(context, asked)
        assert isinstance(deleted, DeleteTopicsResponse)
        response = deleted
    response.responses = [*response.responses, *refused]
    return response


def _may_delete(context: RequestContext, name: str) -> bool:
    """Who may describe a topic may also hear that it does not exist."""
    return may_with_topic(context, Operation.DESCRIBE, name) and (
        name not in context.broker.image.topics or may_with_topic(context, Operation.DELETE, name)
    )


def _undeletable(name: str | None, topic_id: bytes) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=_DENIED_CODE, error_message=_DENIED_MESSAGE
    )
