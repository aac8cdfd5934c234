"""Topics: made, listed, grown, deleted; their options read and changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from mainstem.client.cluster import ClusterClient, TopicView
from mainstem.client.errors import Refused, UnexpectedAnswer, check
from mainstem.model.ids import TopicId
from mainstem.wire.kafka.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from mainstem.wire.kafka.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from mainstem.wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from mainstem.wire.kafka.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from mainstem.wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

TOPIC_RESOURCE = 2
_SET, _DELETE = 0, 1


class ConfigSource(IntEnum):
    """Where an option's value comes from."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER = 3
    CONFIG_FILE = 4
    DEFAULT = 5

    @classmethod
    def of(cls, code: int) -> ConfigSource:
        return cls(code) if code in cls._value2member_map_ else cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class OptionView:
    name: str
    value: str | None  # None: not told, because it is a secret
    source: ConfigSource
    is_read_only: bool

    @property
    def is_set_on_topic(self) -> bool:
        return self.source is ConfigSource.TOPIC


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    name: str
    topic_id: TopicId
    partition_count: int
    replication_factor: int


def list_topics(cluster: ClusterClient) -> list[TopicView]:
    found = cluster.refresh(None)
    return sorted(
        (view for view in found.values() if isinstance(view, TopicView)), key=lambda view: view.name
    )


def create_topic(
    cluster: ClusterClient,
    name: str,
    *,
    partition_count: int = -1,
    replication_factor: int = -1,
    config: Mapping[str, str] | None = None,
    validate_only: bool = False,
) -> CreatedTopic:
    """-1 leaves the number to the broker's defaults."""
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=partition_count,
                replication_factor=replication_factor,
                configs=[
                    CreatableTopicConfig(name=key, value=value) for key, value in (config or {}).items()
                ],
            )
        ],
        timeout_ms=int(cluster.timeout_s * 1000),
        validate_only=validate_only,
    )
    answer = cluster.ask_controller(request, CreateTopicsResponse)
    for topic in answer.topics:
        check(topic.error_code, f"topic {topic.name}", topic.error_message)
        return CreatedTopic(
            topic.name, TopicId(topic.topic_id), topic.num_partitions, topic.replication_factor
        )
    raise UnexpectedAnswer("the controller", f"its answer does not name {name}")


def delete_topics(cluster: ClusterClient, names: Sequence[str]) -> dict[str, Refused | None]:
    request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=int(cluster.timeout_s * 1000))
    answer = cluster.ask_controller(request, DeleteTopicsResponse)
    return {
        topic.name or "": Refused(topic.error_code, f"topic {topic.name}", topic.error_message)
        if topic.error_code
        else None
        for topic in answer.responses
    }


def grow_topic(cluster: ClusterClient, name: str, partition_count: int) -> None:
    """Sets the number of partitions, which must be higher than it was."""
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=partition_count, assignments=None)],
        timeout_ms=int(cluster.timeout_s * 1000),
    )
    for result in cluster.ask_controller(request, CreatePartitionsResponse).results:
        check(result.error_code, f"topic {result.name}", result.error_message)


def topic_options(cluster: ClusterClient, names: Iterable[str]) -> dict[str, list[OptionView]]:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None)
            for name in names
        ]
    )
    if not request.resources:
        return {}
    options: dict[str, list[OptionView]] = {}
    for result in cluster.ask(request, DescribeConfigsResponse).results:
        check(result.error_code, f"topic {result.resource_name}", result.error_message)
        options[result.resource_name] = [
            OptionView(
                option.name,
                None if option.is_sensitive else option.value,
                ConfigSource.of(option.config_source),
                option.read_only,
            )
            for option in sorted(result.configs, key=lambda option: option.name)
        ]
    return options


def alter_topic_options(
    cluster: ClusterClient, name: str, *, values: Mapping[str, str], deleted: Sequence[str] = ()
) -> None:
    """Sets some and puts others back to their defaults, all or none."""
    changes = [AlterableConfig(name=key, config_operation=_SET, value=value) for key, value in values.items()]
    changes += [AlterableConfig(name=key, config_operation=_DELETE, value=None) for key in deleted]
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configs=changes)]
    )
    for result in cluster.ask_controller(request, IncrementalAlterConfigsResponse).responses:
        check(result.error_code, f"topic {name}", result.error_message)
