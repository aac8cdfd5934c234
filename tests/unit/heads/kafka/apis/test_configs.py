"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import pytest
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.topic_options import TOPIC_OPTIONS
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.config_resources import ResourceType
from mainstem.wire.kafka.messages import alter_configs, incremental_alter_configs
from mainstem.wire.kafka.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from mainstem.wire.kafka.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

TOPIC, BROKER, GROUP = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP
LOGGERS = ResourceType.BROKER_LOGGER
SET, DELETE, APPEND, SUBTRACT = range(4)
# sources
OF_TOPIC, OF_NODE, OF_CLUSTER, OF_START, BUILT_IN = range(1, 6)


async def described(
    peer: Peer, kind: int, name: str, keys: list[str] | None = None, *, version: int = 4, **more: bool
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    request = DescribeConfigsRequest(resources=[resource], **more)
    (result,) = (await peer.ask(request, DescribeConfigsResponse, version)).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    assert bool(result.error_message) == bool(result.error_code)
    return result


def entry(result: DescribeConfigsResult, name: str) -> DescribeConfigsResourceResult:
    (found,) = [each for each in result.configs if each.name == name]
    return found


async def changed(
    peer: Peer,
    kind: int,
    name: str,
    *changes: tuple[str, int, str | None],
    version: int = 1,
    dry: bool = False,
) -> int:
    configs = [
        incremental_alter_configs.AlterableConfig(name=option, config_operation=operation, value=value)
        for option, operation, value in changes
    ]
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=configs
    )
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[resource], validate_only=dry
    )
    answer = await peer.ask(request, incremental_alter_configs.IncrementalAlterConfigsResponse, version)
    (response,) = answer.responses
    assert bool(response.error_message) == bool(response.error_code)
    return response.error_code


async def replaced(
    peer: Peer, kind: int, name: str, options: Sequence[tuple[str, str | None]], *, version: int = 2
) -> int:
    configs = [alter_configs.AlterableConfig(name=option, value=value) for option, value in options]
    resource = alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = alter_configs.AlterConfigsRequest(resources=[resource])
    (response,) = (await peer.ask(request, alter_configs.AlterConfigsResponse, version)).responses
    return response.error_code


# --- describing


@pytest.mark.parametrize("version", range(1, 5))
async def test_a_topic_is_described(node: KafkaNode, peer: Peer, version: int) -> None:
    await node.create_topic("t", config={"retention.ms": "60000"})
    result = await described(
        peer, TOPIC, "t", version=version, include_synonyms=True, include_documentation=version >= 3
    )
    assert {each.name for each in result.configs} == set(TOPIC_OPTIONS)
    retention = entry(result, "retention.ms")
    assert (retention.value, retention.config_source, retention.read_only) == ("60000", OF_TOPIC, False)
    assert [(each.name, each.value, each.source) for each in retention.synonyms] == [
        ("retention.ms", "60000", OF_TOPIC),
        ("log.retention.hours", "168", BUILT_IN),
    ]
    assert retention.config_type == (5 if version >= 3 else 0)
    assert bool(retention.documentation) == (version >= 3)


async def test_what_is_not_asked_for_is_not_told(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    result = await described(peer, TOPIC, "t", ["retention.ms", "no.option"])
    (retention,) = result.configs
    assert (retention.synonyms, retention.documentation) == ([], None)
    assert len((await described(peer, TOPIC, "t", [])).configs) == len(TOPIC_OPTIONS)


async def test_this_broker_is_described(tmp_path_node: KafkaNode) -> None:
    peer = tmp_path_node.peer()
    result = await described(peer, BROKER, "1")
    assert {each.name for each in result.configs} == set(BROKER_OPTIONS)
    partitions, node_id = entry(result, "num.partitions"), entry(result, "node.id")
    assert (partitions.value, partitions.config_source) == ("7", OF_START)
    assert (node_id.value, node_id.read_only) == ("1", True)
    assert entry(result, "inter.broker.protocol.version").value


@pytest.fixture
async def tmp_path_node(tmp_path):
    node = await KafkaNode(tmp_path, {"num.partitions": "7"}).start()
    yield node
    await node.stop()


async def test_what_is_set_for_all_brokers(peer: Peer) -> None:
    assert (await described(peer, BROKER, "")).configs == []
    assert await changed(peer, BROKER, "", ("max.connections", SET, "100")) == 0
    assert await changed(peer, BROKER, "1", ("max.connections.per.ip", SET, "10")) == 0
    (result,) = (await described(peer, BROKER, "", include_synonyms=True)).configs
    assert (result.name, result.value, result.config_source) == ("max.connections", "100", OF_CLUSTER)
    assert [each.source for each in result.synonyms] == [OF_CLUSTER]
    own = await described(peer, BROKER, "1", include_synonyms=True)
    assert entry(own, "max.connections").config_source == OF_CLUSTER
    per_ip = entry(own, "max.connections.per.ip")
    assert (per_ip.value, [each.source for each in per_ip.synonyms]) == ("10", [OF_NODE, BUILT_IN])


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (ResourceType.BROKER_LOGGER, "2", ErrorCode.INVALID_REQUEST),
        (ResourceType.CLIENT_METRICS, "m", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (0, "x", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_cannot_be_described(peer: Peer, kind: int, name: str, code: ErrorCode) -> None:
    result = await described(peer, kind, name)
    assert (result.error_code, result.configs) == (code, [])


async def test_a_group_has_no_options(peer: Peer) -> None:
    result = await described(peer, GROUP, "g")
    assert (result.error_code, result.configs) == (0, [])
    assert await changed(peer, GROUP, "g", ("consumer.session.timeout.ms", SET, "1")) == (
        ErrorCode.INVALID_CONFIG
    )


# --- changing


@pytest.mark.parametrize("version", [0, 1])
async def test_single_options_are_changed(node: KafkaNode, peer: Peer, version: int) -> None:
    await node.create_topic("t", config={"retention.ms": "1", "flush.ms": "5"})
    assert (
        await changed(
            peer,
            TOPIC,
            "t",
            ("retention.ms", DELETE, None),
            ("segment.ms", SET, "1h"),
            ("cleanup.policy", APPEND, "compact"),
            version=version,
        )
        == 0
    )
    assert node.broker.image.topics["t"].config == {
        "flush.ms": "5",
        "segment.ms": "3600000",
        "cleanup.policy": "delete,compact",
    }
    assert await changed(peer, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete")) == 0
    assert node.broker.partition("t", 0).config.cleanup_policy == {"compact"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("no.option", SET, "1"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
    ],
)
async def test_a_change_that_cannot_be_spoils_its_resource(
    node: KafkaNode, peer: Peer, change: tuple[str, int, str | None], code: ErrorCode
) -> None:
    await node.create_topic("t")
    assert await changed(peer, TOPIC, "t", ("flush.ms", SET, "5"), change) == code
    assert node.broker.image.topics["t"].config == {}


async def test_changing_one_option_twice(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    twice = (("flush.ms", SET, "5"), ("flush.ms", DELETE, None))
    assert await changed(peer, TOPIC, "t", *twice) == ErrorCode.INVALID_REQUEST


async def test_validating_changes_nothing(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    assert await changed(peer, TOPIC, "t", ("flush.ms", SET, "5"), dry=True) == 0
    assert await changed(peer, TOPIC, "t", ("flush.ms", SET, "x"), dry=True) == ErrorCode.INVALID_CONFIG
    assert node.broker.image.topics["t"].config == {}


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (ResourceType.BROKER_LOGGER, "2", ErrorCode.INVALID_REQUEST),
        (ResourceType.CLIENT_METRICS, "m", ErrorCode.INVALID_REQUEST),
        (0, "x", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_resources_that_cannot_be_changed(peer: Peer, kind: int, name: str, code: ErrorCode) -> None:
    assert await changed(peer, kind, name, ("retention.ms", SET, "1")) == code
    assert await replaced(peer, kind, name, [("retention.ms", "1")]) == code


async def test_an_option_of_the_broker_that_is_fixed_at_the_start(peer: Peer) -> None:
    assert await changed(peer, BROKER, "1", ("node.id", SET, "2")) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_all_options_are_replaced(node: KafkaNode, peer: Peer, version: int) -> None:
    await node.create_topic("t", config={"retention.ms": "1"})
    assert await replaced(peer, TOPIC, "t", [("flush.ms", "5")], version=version) == 0
    assert node.broker.image.topics["t"].config == {"flush.ms": "5"}
    assert await replaced(peer, TOPIC, "t", [("flush.ms", None)]) == ErrorCode.INVALID_REQUEST
    assert await replaced(peer, TOPIC, "t", [("flush.ms", "x")]) == ErrorCode.INVALID_CONFIG
    assert node.broker.image.topics["t"].config == {"flush.ms": "5"}


async def test_a_resource_named_twice_is_left_alone(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    one = incremental_alter_configs.AlterConfigsResource(
        resource_type=TOPIC,
        resource_name="t",
        configs=[incremental_alter_configs.AlterableConfig(name="flush.ms", value="5")],
    )
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[one, one])
    answer = await peer.ask(request, incremental_alter_configs.IncrementalAlterConfigsResponse, 1)
    assert [response.error_code for response in answer.responses] == [ErrorCode.INVALID_REQUEST]
    other = alter_configs.AlterConfigsResource(resource_type=TOPIC, resource_name="t")
    answer = await peer.ask(
        alter_configs.AlterConfigsRequest(resources=[other, other]), alter_configs.AlterConfigsResponse, 2
    )
    assert [response.error_code for response in answer.responses] == [ErrorCode.INVALID_REQUEST]
    assert node.broker.image.topics["t"].config == {}


# --- listing


async def test_resources_are_listed(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")

    async def listed(*types: int, version: int = 1) -> set[tuple[int, str]]:
        request = ListConfigResourcesRequest(resource_types=list(types))
        answer = await peer.ask(request, ListConfigResourcesResponse, version)
        assert answer.error_code == 0
        return {(each.resource_type, each.resource_name) for each in answer.config_resources}

    topics = {(TOPIC, "t"), (TOPIC, "__consumer_offsets")}
    assert await listed() == {*topics, (BROKER, "1"), (LOGGERS, "1")}
    assert await listed(TOPIC) == topics
    assert await listed(ResourceType.CLIENT_METRICS, GROUP) == set()
    assert await listed(version=0) == set()
    answer = await peer.ask(ListConfigResourcesRequest(resource_types=[1]), ListConfigResourcesResponse, 1)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


# --- loggers

LOGGER = "mainstem.core.replicas"


@pytest.fixture
def level() -> Iterator[Callable[[], int]]:
    """Of the logger that is changed; afterwards it is as it was."""
    logger = logging.getLogger(LOGGER)
    before = logger.level
    yield lambda: logger.level
    logger.setLevel(before)


async def test_levels_of_loggers_are_told_set_and_taken_back(peer: Peer, level: Callable[[], int]) -> None:
    assert await changed(peer, LOGGERS, "1", (LOGGER, SET, "debug")) == 0
    assert level() == logging.DEBUG
    result = await described(peer, LOGGERS, "1")
    told = entry(result, LOGGER)
    assert (told.value, told.config_source, told.read_only) == ("DEBUG", 6, False)
    assert entry(result, "root").value in {"WARN", "INFO", "DEBUG"}
    (only,) = (await described(peer, LOGGERS, "1", [LOGGER])).configs
    assert only.name == LOGGER
    assert await changed(peer, LOGGERS, "1", (LOGGER, DELETE, None)) == 0
    assert level() == logging.NOTSET


async def test_levels_change_together_or_not_at_all(peer: Peer, level: Callable[[], int]) -> None:
    before = level()
    good = (LOGGER, SET, "TRACE")
    assert await changed(peer, LOGGERS, "1", good, dry=True) == 0
    for bad in ((LOGGER, SET, "loud"), (LOGGER, SET, None), ("mainstem.nobody", SET, "INFO")):
        assert await changed(peer, LOGGERS, "1", good, bad) == ErrorCode.INVALID_CONFIG
    for bad in (("root", DELETE, None), (LOGGER, APPEND, "INFO"), (LOGGER, SUBTRACT, "INFO")):
        assert await changed(peer, LOGGERS, "1", good, bad) == ErrorCode.INVALID_REQUEST
    assert level() == before


async def test_loggers_are_not_replaced_as_a_whole(peer: Peer) -> None:
    assert await replaced(peer, LOGGERS, "1", [(LOGGER, "INFO")]) == ErrorCode.INVALID_REQUEST
