"""DeleteTopics: by name, and from version 6 on by name or by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from mainstem.core.errors import InvalidRequest, UnknownTopicId, UnknownTopicOrPartition
from mainstem.core.image import ClusterImage, TopicImage
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.model.ids import ZERO_TOPIC_ID, TopicId
from mainstem.wire.kafka.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

FIRST_THAT_KNOWS_DISABLED: Final = 3
FIRST_THROTTLED: Final = 5


async def handle(context: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    results: list[DeletableTopicResult] = []
    doomed: dict[TopicId, DeletableTopicResult] = {}
    for state, topic in _resolved(context.broker.image, _named(request)):
        result = DeletableTopicResult(name=state.name, topic_id=state.topic_id)
        results.append(result)
        if isinstance(topic, TopicImage):
            result.name, result.topic_id = topic.name, topic.topic_id
            doomed[topic.topic_id] = result
        else:
            _refuse(result, topic, context.version)
    changes = context.changes(first_strict=FIRST_THROTTLED)
    if doomed:
        deletion = changes.delete_topics(list(doomed))
        for topic_id, error in (await context.begun_changes.within(request.timeout_ms, deletion)).items():
            if error is not None:
                _refuse(doomed[topic_id], error, context.version)
    return DeleteTopicsResponse(throttle_time_ms=changes.throttle_ms, responses=results)


def _named(request: DeleteTopicsRequest) -> list[DeleteTopicState]:
    return [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]


def _resolved(
    image: ClusterImage, named: Sequence[DeleteTopicState]
) -> list[tuple[DeleteTopicState, TopicImage | MainstemError]]:
    """Each of the request's topics once: what it is, or why nothing can be done about it."""
    counts = Counter((state.name, state.topic_id) for state in named)
    found: list[tuple[DeleteTopicState, TopicImage | MainstemError]] = []
    for state in {(state.name, state.topic_id): state for state in named}.values():
        try:
            if counts[state.name, state.topic_id] > 1:
                raise InvalidRequest("the request names this topic more than once")
            found.append((state, _find(image, state)))
        except MainstemError as error:
            found.append((state, error))
    by_name_and_id = Counter(topic.topic_id for _, topic in found if isinstance(topic, TopicImage))
    twice = InvalidRequest("the request names this topic by its name and by its id")
    return [
        (state, twice if isinstance(topic, TopicImage) and by_name_and_id[topic.topic_id] > 1 else topic)
        for state, topic in found
    ]


def _find(image: ClusterImage, state: DeleteTopicState) -> TopicImage:
    topic_id = TopicId(state.topic_id)
    if state.name is not None and topic_id != ZERO_TOPIC_ID:
        raise InvalidRequest("a topic is named by its name or by its id, not by both")
    if state.name is not None:
        topic = image.topics.get(state.name)
        if topic is None:
            raise UnknownTopicOrPartition(f"there is no topic '{state.name}'")
        return topic
    if topic_id == ZERO_TOPIC_ID:
        raise InvalidRequest("neither a topic's name nor its id is given")
    topic = image.topics_by_id.get(topic_id)
    if topic is None:
        raise UnknownTopicId("there is no topic with this id")
    return topic


def _refuse(result: DeletableTopicResult, error: MainstemError, version: int) -> None:
    code = error_code(error)
    if code is ErrorCode.TOPIC_DELETION_DISABLED and version < FIRST_THAT_KNOWS_DISABLED:
        code = ErrorCode.INVALID_REQUEST
    result.error_code = code
    result.error_message = error_message(error)


def refuse(request: DeleteTopicsRequest, code: ErrorCode, message: str) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=state.name, topic_id=state.topic_id, error_code=code, error_message=message
            )
            for state in _named(request)
        ]
    )


HANDLER: Final = Handler(key=20, min_version=1, max_version=6, handle=handle, refuse=refuse)
