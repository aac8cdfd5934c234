"""CreateTopics: from version 5 on with the configuration that a topic got, from version 7 on with its id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mainstem.config.broker import BrokerConfig
from mainstem.config.describe import describe_topic
from mainstem.core.errors import InvalidConfig, InvalidReplicaAssignment
from mainstem.core.image import TopicImage
from mainstem.core.ports import NewTopic
from mainstem.core.slices import Slices
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.model.ids import ZERO_TOPIC_ID
from mainstem.wire.kafka.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

FIRST_WITH_CONFIGS: Final = 5
FIRST_THROTTLED: Final = 6


async def handle(context: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    outcomes: dict[str, TopicImage | MainstemError] = {}
    wanted: list[NewTopic] = []
    slices = Slices()
    for topic in request.topics:
        await slices.pause()
        try:
            wanted.append(_new_topic(topic))
        except MainstemError as error:
            outcomes[topic.name] = error
    changes = context.changes(first_strict=FIRST_THROTTLED)
    creation = changes.create_topics(
        [topic for topic in wanted if topic.name not in outcomes], validate_only=request.validate_only
    )
    outcomes.update(await context.begun_changes.within(request.timeout_ms, creation))
    config = context.broker.config if context.version >= FIRST_WITH_CONFIGS else None
    results = []
    for name in dict.fromkeys(topic.name for topic in request.topics):
        await slices.pause()
        outcome = outcomes[name]
        if isinstance(outcome, MainstemError):
            results.append(_refused(name, error_code(outcome), error_message(outcome)))
        else:
            results.append(_created(outcome, config, request.validate_only))
    return CreateTopicsResponse(throttle_time_ms=changes.throttle_ms, topics=results)


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        partition_count=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignment=_assignment(topic.assignments),
        config=_options(topic.configs),
    )


def _assignment(named: Sequence[CreatableReplicaAssignment]) -> dict[int, tuple[int, ...]]:
    assignment = {each.partition_index: tuple(each.broker_ids) for each in named}
    if len(assignment) != len(named):
        raise InvalidReplicaAssignment("the assignment names a partition more than once")
    return assignment


def _options(named: Sequence[CreatableTopicConfig]) -> dict[str, str]:
    options: dict[str, str] = {}
    for option in named:
        if option.value is None:
            raise InvalidConfig(f"{option.name} has no value: leave it out to have the default")
        options[option.name] = option.value
    return options


def _created(topic: TopicImage, config: BrokerConfig | None, validate_only: bool) -> CreatableTopicResult:
    """`config`: the broker's, for clients that are told the topic's."""
    result = CreatableTopicResult(
        name=topic.name,
        topic_id=ZERO_TOPIC_ID if validate_only else topic.topic_id,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=len(topic.partitions[0].replicas),
    )
    if config is not None:
        result.configs = [
            CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
                is_sensitive=entry.is_sensitive,
            )
            for entry in describe_topic(topic.config, config)
        ]
    return result


def _refused(name: str, code: ErrorCode, message: str) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=code, error_message=message)


def refuse(request: CreateTopicsRequest, code: ErrorCode, message: str) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[_refused(topic.name, code, message) for topic in request.topics])


HANDLER: Final = Handler(
    key=19,
    min_version=2,
    max_version=7,
    handle=handle,
    refuse=refuse,
    remarks="An answer to `validate_only` tells no topic id, because that topic will never be.",
)
