"""What has options, under Kafka's type codes: topics, brokers and their loggers, groups.

Client metrics are a type of Kafka's that this broker has nothing to configure of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol, TypeVar

from mainstem.core.errors import InvalidRequest
from mainstem.core.ports import ConfigResource
from mainstem.model.errors import MainstemError


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


LOGGERS: Final = "broker-logger"
KINDS: Final[Mapping[int, str]] = {
    ResourceType.TOPIC: "topic",
    ResourceType.BROKER: "broker",
    ResourceType.BROKER_LOGGER: LOGGERS,
    ResourceType.GROUP: "group",
}


class ResourceKey(NamedTuple):
    type: int
    name: str


class NamedResource(Protocol):
    resource_type: int
    resource_name: str


N = TypeVar("N", bound=NamedResource)
T = TypeVar("T")


def config_resource(key: ResourceKey) -> ConfigResource:
    kind = KINDS.get(key.type)
    if kind is not None:
        return ConfigResource(kind, key.name)
    if key.type == ResourceType.CLIENT_METRICS:
        raise InvalidRequest("this broker takes no metrics from clients")
    raise InvalidRequest(f"there are no resources of type {key.type}")


def distinct(named: Iterable[NamedResource]) -> list[ResourceKey]:
    return list(dict.fromkeys(_key(resource) for resource in named))


def sort_out(
    named: Sequence[N], read: Callable[[N], T]
) -> tuple[dict[ConfigResource, T], dict[ResourceKey, MainstemError]]:
    """What a request asks of each resource, and what is wrong with the others."""
    wanted: dict[ConfigResource, T] = {}
    refused: dict[ResourceKey, MainstemError] = {}
    counts = Counter(_key(resource) for resource in named)
    for resource in named:
        key = _key(resource)
        try:
            if counts[key] > 1:
                raise InvalidRequest("the request names this resource more than once")
            wanted[config_resource(key)] = read(resource)
        except MainstemError as error:
            refused[key] = error
    return wanted, refused


def outcome_of(
    key: ResourceKey,
    refused: Mapping[ResourceKey, MainstemError],
    outcomes: Mapping[ConfigResource, MainstemError | None],
) -> MainstemError | None:
    return refused[key] if key in refused else outcomes[config_resource(key)]


def _key(resource: NamedResource) -> ResourceKey:
    return ResourceKey(resource.resource_type, resource.resource_name)


def check_own_loggers(resource: ConfigResource, node_id: int) -> None:
    """Loggers are a node's own: others do not know them."""
    if resource.name != str(node_id):
        raise InvalidRequest(
            f"these are the loggers of broker {node_id}, not of {resource.name!r}: ask that one"
        )
