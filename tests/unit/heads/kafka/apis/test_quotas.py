"""DescribeClientQuotas and AlterClientQuotas, and what a quota of changes does to requests that change."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.kafka_node import KafkaNode, Peer

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    OpData,
)
from mainstem.wire.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mainstem.wire.kafka.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from mainstem.wire.kafka.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from mainstem.wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from mainstem.wire.kafka.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from mainstem.wire.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

Entity = Mapping[str, str | None]
THROTTLED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


def entry(entity: Entity, limits: Mapping[str, float | None]) -> AlterClientQuotasRequestEntryData:
    return AlterClientQuotasRequestEntryData(
        entity=[
            AlterClientQuotasRequestEntityData(entity_type=kind, entity_name=name)
            for kind, name in entity.items()
        ],
        ops=[OpData(key=key, value=value or 0, remove=value is None) for key, value in limits.items()],
    )


async def alter(
    peer: Peer, *entries: AlterClientQuotasRequestEntryData, version: int = 1, dry: bool = False
) -> list[int]:
    request = AlterClientQuotasRequest(entries=list(entries), validate_only=dry)
    response = await peer.ask(request, AlterClientQuotasResponse, version)
    for answer in response.entries:
        assert bool(answer.error_message) == bool(answer.error_code)
    return [answer.error_code for answer in response.entries]


async def described(
    peer: Peer, *parts: ComponentData, strict: bool = False, version: int = 1
) -> DescribeClientQuotasResponse:
    request = DescribeClientQuotasRequest(components=list(parts), strict=strict)
    return await peer.ask(request, DescribeClientQuotasResponse, version)


def as_text(response: DescribeClientQuotasResponse) -> set[str]:
    return {
        ",".join(f"{part.entity_type}={part.entity_name}" for part in each.entity)
        + ":"
        + ",".join(f"{value.key}={value.value:g}" for value in each.values)
        for each in response.entries or ()
    }


async def test_quotas_are_set_told_and_removed(peer: Peer) -> None:
    for version in (0, 1):
        codes = await alter(
            peer,
            entry({"user": "alice"}, {"producer_byte_rate": 1000, "request_percentage": 12.5}),
            entry({"client-id": "c", "user": None}, {"consumer_byte_rate": 5}),
            entry({"ip": "10.0.0.1"}, {"connection_creation_rate": 7}),
            version=version,
        )
        assert codes == [0, 0, 0]
        assert as_text(await described(peer, version=version)) == {
            "user=alice:producer_byte_rate=1000,request_percentage=12.5",
            "user=None,client-id=c:consumer_byte_rate=5",
            "ip=10.0.0.1:connection_creation_rate=7",
        }
        assert await alter(
            peer,
            entry({"user": "alice"}, {"producer_byte_rate": None, "request_percentage": None}),
            entry({"user": None, "client-id": "c"}, {"consumer_byte_rate": None}),
            entry({"ip": "10.0.0.1"}, {"connection_creation_rate": None}),
            version=version,
        ) == [0, 0, 0]
        assert (await described(peer, version=version)).entries == []


async def test_filters_are_by_part_and_strict_ones_leave_others_out(peer: Peer) -> None:
    await alter(
        peer,
        entry({"user": "alice"}, {"request_percentage": 1}),
        entry({"user": None}, {"request_percentage": 2}),
        entry({"user": "alice", "client-id": "c"}, {"request_percentage": 3}),
    )
    alice = ComponentData(entity_type="user", match_type=0, match="alice")
    default = ComponentData(entity_type="user", match_type=1, match=None)
    anybody = ComponentData(entity_type="user", match_type=2, match=None)
    assert len(as_text(await described(peer, alice))) == 2
    assert as_text(await described(peer, alice, strict=True)) == {"user=alice:request_percentage=1"}
    assert as_text(await described(peer, default)) == {"user=None:request_percentage=2"}
    assert len(as_text(await described(peer, anybody))) == 3


async def test_a_filter_that_cannot_be_is_refused(peer: Peer) -> None:
    twice = [ComponentData(entity_type="user", match_type=2, match=None)] * 2
    response = await described(peer, *twice)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.entries is None
    strange = await described(peer, ComponentData(entity_type="team", match_type=2, match=None))
    assert strange.error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_each_entity_gets_its_own_error(peer: Peer) -> None:
    good = entry({"user": "bob"}, {"producer_byte_rate": 9})
    codes = await alter(
        peer,
        entry({}, {"producer_byte_rate": 1}),
        entry({"user": "a"}, {"producer_byte_rate": -1}),
        entry({"user": "a", "client-id": "b"}, {"nonsense": 1}),
        good,
    )
    assert codes == [ErrorCode.INVALID_REQUEST] * 3 + [0]
    twice = entry({"user": "x"}, {"producer_byte_rate": 1})
    assert await alter(peer, twice, twice) == [ErrorCode.INVALID_REQUEST] * 2
    assert as_text(await described(peer)) == {"user=bob:producer_byte_rate=9"}


async def test_trying_changes_nothing(peer: Peer) -> None:
    assert await alter(peer, entry({"user": "a"}, {"producer_byte_rate": 1}), dry=True) == [0]
    assert await alter(peer, entry({"user": "b"}, {"producer_byte_rate": 0}), dry=True) == [42]
    assert (await described(peer)).entries == []


async def create(
    peer: Peer, version: int, *names: str, partitions: int = 20, dry: bool = False
) -> tuple[list[int], int]:
    topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in names]
    request = CreateTopicsRequest(topics=topics, timeout_ms=10_000, validate_only=dry)
    response = await peer.ask(request, CreateTopicsResponse, version)
    return [topic.error_code for topic in response.topics], response.throttle_time_ms


async def test_changes_beyond_the_quota_are_refused_to_who_understands_that(node: KafkaNode) -> None:
    await alter(node.peer(), entry({"client-id": "builder"}, {"controller_mutation_rate": 1}))
    peer = node.peer("builder")
    assert await create(peer, 7, "a", "b") == ([0, THROTTLED], 9000)  # of 11 there were, 20 were taken
    assert "b" not in node.broker.image.topics
    peer.session.head.broker.clock.advance(9000)
    assert (await create(peer, 7, "b", partitions=1))[0] == [0]


async def test_what_fails_anyhow_and_what_is_only_tried_costs_nothing(node: KafkaNode) -> None:
    await alter(node.peer(), entry({"client-id": "builder"}, {"controller_mutation_rate": 1}))
    peer = node.peer("builder")
    await node.create_topic("there", 2)
    assert (await create(peer, 7, "there", partitions=50))[0] == [ErrorCode.TOPIC_ALREADY_EXISTS]
    assert await create(peer, 7, "new", partitions=50, dry=True) == ([0], 0)
    assert await create(peer, 7, "new", partitions=11) == ([0], 0)


async def test_older_clients_have_their_way_and_wait(node: KafkaNode) -> None:
    await alter(node.peer(), entry({"client-id": "builder"}, {"controller_mutation_rate": 1}))
    peer = node.peer("builder")
    assert await create(peer, 5, "a", "b") == ([0, 0], 29_000)
    assert {"a", "b"} <= set(node.broker.image.topics)


async def test_partitions_and_deletions_count_as_well(node: KafkaNode) -> None:
    await node.create_topic("a", 2)
    await node.create_topic("b", 2)
    await alter(node.peer(), entry({"client-id": "builder"}, {"controller_mutation_rate": 1}))
    peer = node.peer("builder")
    growth = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(name="a", count=22, assignments=None),
            CreatePartitionsTopic(name="b", count=3, assignments=None),
            CreatePartitionsTopic(name="nowhere", count=3, assignments=None),
        ],
        timeout_ms=10_000,
    )
    grown = await peer.ask(growth, CreatePartitionsResponse, 3)
    assert {result.name: result.error_code for result in grown.results} == {
        "a": 0,
        "b": THROTTLED,
        "nowhere": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert grown.throttle_time_ms == 9000
    peer.session.head.broker.clock.advance(9000)
    deletion = DeleteTopicsRequest(topic_names=["a", "b"], timeout_ms=10_000)
    deleted = await peer.ask(deletion, DeleteTopicsResponse, 5)
    assert {result.name: result.error_code for result in deleted.responses} == {"a": 0, "b": THROTTLED}
    assert deleted.throttle_time_ms == 22_000
    assert "b" in node.broker.image.topics


async def test_asking_for_versions_takes_time_too(node: KafkaNode) -> None:
    await alter(node.peer(), entry({"client-id": "busy"}, {"request_percentage": 1e-9}))
    peer = node.peer("busy")
    asked = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    assert (await peer.ask(asked, ApiVersionsResponse, 4)).throttle_time_ms == 1000
    assert peer.session._muted is not None


async def test_request_time_is_told_and_the_connection_muted(node: KafkaNode) -> None:
    await alter(node.peer(), entry({"client-id": "busy"}, {"request_percentage": 1e-9}))
    peer = node.peer("busy")
    response = await peer.ask(HeartbeatRequest(group_id="g"), HeartbeatResponse, 4)
    assert response.throttle_time_ms == 1000
    node.clock.advance(999)
    assert peer.session._muted is not None
    node.clock.advance(1)
    assert peer.session._muted is None
