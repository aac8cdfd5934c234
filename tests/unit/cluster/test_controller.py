"""The controller: every request answered item by item, durable and visible on return, fenced."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.support.simulated_clock import SimulatedClock, settle
from tests.unit.cluster.node import Node

from mainstem.cluster import keys
from mainstem.cluster.entries import encode_topic
from mainstem.cluster.errors import MetadataWriteFailed
from mainstem.cluster.sqlite_store import open_sqlite_store
from mainstem.cluster.store import Delete, Put
from mainstem.core.errors import (
    ElectionNotNeeded,
    InvalidConfig,
    InvalidPartitionCount,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopicName,
    MetadataNotAvailable,
    NoReassignmentInProgress,
    NotController,
    PolicyViolation,
    TopicAlreadyExists,
    TopicDeletionDisabled,
    UnknownBrokerId,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from mainstem.core.image import ClusterImage, MetadataDelta, PartitionImage, TopicImage
from mainstem.core.ports import ConfigChange, ConfigResource, NewPartitions, NewTopic
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicId, TopicPartition


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    made = await Node().start()
    yield made
    await made.stop()


async def created(node: Node, name: str, count: int = 1, **more: object) -> TopicImage:
    answers = await node.controller.create_topics([NewTopic(name, count, **more)])  # type: ignore[arg-type]
    topic = answers[name]
    assert isinstance(topic, TopicImage), topic
    return topic


async def refusal(node: Node, topic: NewTopic) -> MainstemError:
    answer = (await node.controller.create_topics([topic]))[topic.name]
    assert isinstance(answer, MainstemError)
    assert topic.name not in node.image.topics
    return answer


# --- creating


async def test_a_created_topic_is_in_the_image_and_in_the_store(node: Node) -> None:
    topic = await created(node, "orders", 3, config={"retention.ms": "7d"})
    assert node.image.topics["orders"] == topic
    assert node.image.topics_by_id[topic.topic_id] == topic
    assert topic.config == {"retention.ms": "604800000"}
    assert topic.partitions == (PartitionImage((1,), (1,), 1, 0, 0),) * 3
    assert topic.topic_id[6] >> 4 == 4  # a UUID of version 4
    assert await node.store.get(keys.topic_key("orders")) is not None
    assert not topic.is_internal


async def test_defaults_come_from_the_brokers_options() -> None:
    node = await Node(options={"num.partitions": "5"}).start()
    topic = (await node.controller.create_topics([NewTopic("a")]))["a"]
    assert isinstance(topic, TopicImage)
    assert len(topic.partitions) == 5
    await node.stop()


async def test_internal_topics_are_known_by_name_or_by_who_asks(node: Node) -> None:
    assert (await created(node, "__consumer_offsets")).is_internal
    answers = await node.controller.create_topics([NewTopic("timers")], is_internal=True)
    assert isinstance(answers["timers"], TopicImage)
    assert answers["timers"].is_internal


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("a", 0), InvalidPartitionCount),
        (NewTopic("a", -2), InvalidPartitionCount),
        (NewTopic("a", 1, 0), InvalidReplicationFactor),
        (NewTopic("a", 1, -3), InvalidReplicationFactor),
        (NewTopic("a", 1, 2), InvalidReplicationFactor),
        (NewTopic("a", 10_001), PolicyViolation),
        (NewTopic("", 1), InvalidTopicName),
        (NewTopic(".", 1), InvalidTopicName),
        (NewTopic("..", 1), InvalidTopicName),
        (NewTopic("a/b", 1), InvalidTopicName),
        (NewTopic("ä", 1), InvalidTopicName),
        (NewTopic("a\n", 1), InvalidTopicName),
        (NewTopic("x" * 250, 1), InvalidTopicName),
        (NewTopic("__cluster_metadata", 1), InvalidRequest),
        (NewTopic("a", 1, config={"no.such": "1"}), InvalidConfig),
        (NewTopic("a", 1, config={"retention.ms": "soon"}), InvalidConfig),
        (NewTopic("a", 1, config={"segment.bytes": "1"}), InvalidConfig),
        (NewTopic("a", 2, assignment={0: [1], 1: [1]}), InvalidRequest),
        (NewTopic("a", -1, 1, assignment={0: [1]}), InvalidRequest),
        (NewTopic("a", assignment={1: [1]}), InvalidReplicaAssignment),
        (NewTopic("a", assignment={0: [1], 2: [1]}), InvalidReplicaAssignment),
        (NewTopic("a", assignment={0: []}), InvalidReplicaAssignment),
        (NewTopic("a", assignment={0: [2]}), InvalidReplicaAssignment),
        (NewTopic("a", assignment={0: [1, 1]}), InvalidReplicaAssignment),
        (NewTopic("a", assignment={0: [-1]}), InvalidReplicaAssignment),
    ],
)
async def test_refusals(node: Node, topic: NewTopic, error: type[MainstemError]) -> None:
    assert type(await refusal(node, topic)) is error


async def test_longest_name(node: Node) -> None:
    await created(node, "x" * 249)


async def test_names_that_exist_or_collide_are_refused(node: Node) -> None:
    await created(node, "a.b")
    await created(node, "plain")
    answers = await node.controller.create_topics([NewTopic("a.b", 1), NewTopic("a_b", 1), NewTopic("ok", 1)])
    assert type(answers["a.b"]) is TopicAlreadyExists
    assert type(answers["a_b"]) is InvalidTopicName
    assert "a.b" in str(answers["a_b"])
    assert isinstance(answers["ok"], TopicImage)
    answers = await node.controller.create_topics([NewTopic("x.y", 1), NewTopic("x_y", 1)])
    assert isinstance(answers["x.y"], TopicImage)
    assert type(answers["x_y"]) is InvalidTopicName


async def test_a_name_asked_for_twice_is_refused_both_times(node: Node) -> None:
    answers = await node.controller.create_topics([NewTopic("a", 1), NewTopic("b", 1), NewTopic("a", 2)])
    assert type(answers["a"]) is InvalidRequest
    assert list(node.image.topics) == ["b"]


async def test_validate_only_answers_the_same_and_makes_nothing(node: Node) -> None:
    before = node.memory.revision
    answers = await node.controller.create_topics(
        [NewTopic("a", 2), NewTopic("a_b", 1), NewTopic("a.b", 1), NewTopic("bad!", 1)], validate_only=True
    )
    assert isinstance(answers["a"], TopicImage)
    assert len(answers["a"].partitions) == 2
    assert isinstance(answers["a_b"], TopicImage)
    assert type(answers["a.b"]) is InvalidTopicName
    assert type(answers["bad!"]) is InvalidTopicName
    assert node.memory.revision == before
    assert not node.image.topics


async def test_a_chosen_assignment_is_kept(node: Node) -> None:
    other = await Node(2, store=node.store, clock=node.clock).start()
    await settle()
    topic = await created(node, "a", -1, assignment={0: [2, 1], 1: [1, 2]})
    assert [partition.replicas for partition in topic.partitions] == [(2, 1), (1, 2)]
    assert [partition.leader for partition in topic.partitions] == [2, 1]
    await other.stop()


async def test_topics_of_one_request_spread_over_the_nodes(node: Node) -> None:
    others = [await Node(n, store=node.store, clock=node.clock).start() for n in (2, 3)]
    await settle()
    answers = await node.controller.create_topics([NewTopic(f"t{n}", 1) for n in range(300)])
    leaders = [t.partitions[0].leader for t in answers.values() if isinstance(t, TopicImage)]
    assert {leaders.count(n) for n in (1, 2, 3)} == {100}
    for other in others:
        await other.stop()


async def test_concurrent_requests_for_one_name_make_one_topic(node: Node) -> None:
    answers = await asyncio.gather(*(node.controller.create_topics([NewTopic("a", 1)]) for _ in range(10)))
    made = [answer["a"] for answer in answers if isinstance(answer["a"], TopicImage)]
    assert len(made) == 1
    assert sum(isinstance(answer["a"], TopicAlreadyExists) for answer in answers) == 9


@pytest.mark.parametrize("shape", [(1, 10_000), (10_000, 1), (100, 100)])
async def test_ten_thousand_partitions_in_one_request(
    tmp_path: Path, shape: tuple[int, int], record_property: Callable[[str, object], None]
) -> None:
    """On the real store, and the loop stays responsive meanwhile."""
    topics, partitions = shape
    clock = SimulatedClock()
    store = await open_sqlite_store(str(tmp_path / "metadata.db"), clock)
    node = await Node(store=store, clock=clock).start()
    longest_turn_s = 0.0

    async def watch_the_loop() -> None:
        nonlocal longest_turn_s
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0)
            longest_turn_s = max(longest_turn_s, time.perf_counter() - before)

    watching = asyncio.create_task(watch_the_loop())
    started = time.perf_counter()
    answers = await node.controller.create_topics([NewTopic(f"t{n}", partitions) for n in range(topics)])
    took_s = time.perf_counter() - started
    watching.cancel()
    record_property("took_s", took_s)
    record_property("longest_turn_s", longest_turn_s)
    assert all(isinstance(answer, TopicImage) for answer in answers.values())
    assert sum(len(topic.partitions) for topic in node.image.topics.values()) == 10_000
    assert took_s < 5
    assert longest_turn_s < 0.5
    answered = await node.controller.delete_topics([t.topic_id for t in node.image.topics.values()])
    assert set(answered.values()) == {None}
    assert not node.image.topics
    await node.stop()
    await store.close()


# --- deleting


async def test_delete_and_create_again_gives_another_id(node: Node) -> None:
    first = await created(node, "a", 2)
    assert await node.controller.delete_topics([first.topic_id]) == {first.topic_id: None}
    assert not node.image.topics
    assert not node.image.topics_by_id
    second = await created(node, "a", 1)
    assert second.topic_id != first.topic_id
    answers = await node.controller.delete_topics([first.topic_id])
    assert type(answers[first.topic_id]) is UnknownTopicId
    assert node.image.topics["a"] == second


async def test_deleting_twice_in_one_request_is_refused_and_the_rest_done(node: Node) -> None:
    a, b = await created(node, "a"), await created(node, "b")
    answers = await node.controller.delete_topics([a.topic_id, b.topic_id, a.topic_id])
    assert type(answers[a.topic_id]) is InvalidRequest
    assert answers[b.topic_id] is None
    assert list(node.image.topics) == ["a"]


async def test_deletion_can_be_forbidden() -> None:
    node = await Node(options={"delete.topic.enable": "false"}).start()
    topic = await created(node, "a")
    answers = await node.controller.delete_topics([topic.topic_id])
    assert type(answers[topic.topic_id]) is TopicDeletionDisabled
    assert "a" in node.image.topics
    await node.stop()


# --- growing


async def test_partitions_are_added_behind_those_that_are_there(node: Node) -> None:
    before = await created(node, "a", 2, config={"retention.ms": "1000"})
    answers = await node.controller.create_partitions([NewPartitions("a", 5)])
    assert answers == {"a": None}
    after = node.image.topics["a"]
    assert after.partitions[:2] == before.partitions
    assert len(after.partitions) == 5
    assert (after.topic_id, after.config) == (before.topic_id, before.config)
    assert node.deltas[-1].changed == (after,)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (NewPartitions("a", 2), InvalidPartitionCount),
        (NewPartitions("a", 1), InvalidPartitionCount),
        (NewPartitions("a", -1), InvalidPartitionCount),
        (NewPartitions("a", 100_001), InvalidPartitionCount),
        (NewPartitions("a", 10_003), PolicyViolation),
        (NewPartitions("none", 3), UnknownTopicOrPartition),
        (NewPartitions("a", 4, [[1]]), InvalidReplicaAssignment),
        (NewPartitions("a", 3, [[2]]), InvalidReplicaAssignment),
        (NewPartitions("a", 3, [[]]), InvalidReplicaAssignment),
    ],
)
async def test_growth_refusals(node: Node, request_: NewPartitions, error: type[MainstemError]) -> None:
    await created(node, "a", 2)
    answers = await node.controller.create_partitions([request_])
    assert type(answers[request_.topic]) is error
    assert len(node.image.topics["a"].partitions) == 2


async def test_growth_is_judged_item_by_item_and_may_only_be_tried(node: Node) -> None:
    await created(node, "a")
    await created(node, "b")
    twice = [NewPartitions("a", 2), NewPartitions("b", 2), NewPartitions("a", 3)]
    answers = await node.controller.create_partitions(twice)
    assert type(answers["a"]) is InvalidRequest
    assert answers["b"] is None
    tried = await node.controller.create_partitions([NewPartitions("a", 7)], validate_only=True)
    assert tried == {"a": None}
    assert len(node.image.topics["a"].partitions) == 1
    assert len(node.image.topics["b"].partitions) == 2


# --- options

TOPIC = ConfigResource("topic", "a")
NODE = ConfigResource("broker", "1")
ALL_NODES = ConfigResource("broker", "")


async def test_options_of_a_topic_change_one_by_one_or_all(node: Node) -> None:
    await created(node, "a", config={"retention.ms": "1000", "segment.ms": "5000"})
    answers = await node.controller.alter_configs(
        {TOPIC: [ConfigChange("retention.ms", "set", "2000"), ConfigChange("segment.ms", "delete")]}
    )
    assert answers == {TOPIC: None}
    assert node.image.topics["a"].config == {"retention.ms": "2000"}
    answers = await node.controller.replace_configs({TOPIC: {"max.message.bytes": "1000"}})
    assert answers == {TOPIC: None}
    assert node.image.topics["a"].config == {"max.message.bytes": "1000"}


async def test_list_options_take_and_lose_parts(node: Node) -> None:
    await created(node, "a")

    async def change(operation: str, value: str) -> str | None:
        changes = [ConfigChange("cleanup.policy", operation, value)]
        answer = (await node.controller.alter_configs({TOPIC: changes}))[TOPIC]
        assert answer is None, answer
        return node.image.topics["a"].config.get("cleanup.policy")

    assert await change("append", "compact") == "delete,compact"
    assert await change("append", "compact") == "delete,compact"
    assert await change("subtract", "delete") == "compact"
    number = [ConfigChange("retention.ms", "append", "5")]
    assert type((await node.controller.alter_configs({TOPIC: number}))[TOPIC]) is InvalidConfig


async def test_a_request_whose_client_goes_away_leaves_no_old_image_to_the_next(node: Node) -> None:
    """What it wrote is durable: the next decision has to find it, or would write over it."""
    await created(node, "a")
    first = {TOPIC: [ConfigChange("retention.ms", "set", "1000")]}
    second = {TOPIC: [ConfigChange("segment.ms", "set", "2000")]}
    may_apply = asyncio.Event()

    async def slow_room(image: ClusterImage, delta: MetadataDelta) -> None:  # noqa: ARG001
        await may_apply.wait()

    node.follower.subscribe(slow_room)
    gone = asyncio.ensure_future(node.controller.alter_configs(first))
    following = asyncio.ensure_future(node.controller.alter_configs(second))
    await settle()  # the first is written and not in the image yet
    gone.cancel()
    await settle()
    may_apply.set()
    assert await following == {TOPIC: None}
    assert gone.cancelled()
    assert node.image.topics["a"].config == {"retention.ms": "1000", "segment.ms": "2000"}


@pytest.mark.parametrize(
    ("resource", "changes", "error"),
    [
        (TOPIC, [ConfigChange("no.such", "set", "1")], InvalidConfig),
        (TOPIC, [ConfigChange("retention.ms", "set", "x")], InvalidConfig),
        (TOPIC, [ConfigChange("retention.ms", "set", None)], InvalidRequest),
        (TOPIC, [ConfigChange("retention.ms", "rename", "1")], InvalidRequest),
        (
            TOPIC,
            [ConfigChange("retention.ms", "set", "1"), ConfigChange("retention.ms", "set", "2")],
            InvalidRequest,
        ),
        (
            TOPIC,
            [
                ConfigChange("min.compaction.lag.ms", "set", "10"),
                ConfigChange("max.compaction.lag.ms", "set", "5"),
            ],
            InvalidConfig,
        ),
        (
            ConfigResource("topic", "none"),
            [ConfigChange("retention.ms", "set", "1")],
            UnknownTopicOrPartition,
        ),
        (ConfigResource("broker", "9"), [ConfigChange("log.retention.ms", "set", "1")], UnknownBrokerId),
        (ConfigResource("broker", "x"), [ConfigChange("log.retention.ms", "set", "1")], InvalidRequest),
        (ConfigResource("broker", "01"), [ConfigChange("log.retention.ms", "set", "1")], InvalidRequest),
        (NODE, [ConfigChange("node.id", "set", "5")], InvalidRequest),
        (NODE, [ConfigChange("no.such", "set", "5")], InvalidConfig),
        (NODE, [ConfigChange("max.connections", "set", "-5")], InvalidConfig),
        (ConfigResource("group", ""), [], InvalidRequest),
        (ConfigResource("group", "g"), [ConfigChange("no.such", "set", "1")], InvalidConfig),
        (ConfigResource("client-metrics", "x"), [], InvalidRequest),
    ],
)
async def test_options_that_are_refused(
    node: Node, resource: ConfigResource, changes: list[ConfigChange], error: type[MainstemError]
) -> None:
    await created(node, "a", config={"retention.ms": "7"})
    before = node.memory.revision
    answers = await node.controller.alter_configs({resource: changes})
    assert type(answers[resource]) is error
    assert node.memory.revision == before
    assert node.image.topics["a"].config == {"retention.ms": "7"}


async def test_options_of_brokers_are_kept_for_one_and_for_all(node: Node) -> None:
    changes = {
        NODE: [ConfigChange("log.retention.ms", "set", "1000")],
        ALL_NODES: [ConfigChange("log.retention.ms", "set", "2000")],
    }
    assert await node.controller.alter_configs(changes) == {NODE: None, ALL_NODES: None}
    assert node.image.broker_configs == {
        "1": {"log.retention.ms": "1000"},
        "": {"log.retention.ms": "2000"},
    }
    assert node.deltas[-1].broker_configs_changed
    gone = [ConfigChange("log.retention.ms", "delete")]
    assert await node.controller.alter_configs({NODE: gone}) == {NODE: None}
    assert node.image.broker_configs == {"": {"log.retention.ms": "2000"}}
    assert await node.store.get(keys.config_key("broker", "1")) is None


async def test_what_is_only_tried_or_changes_nothing_writes_nothing(node: Node) -> None:
    await created(node, "a", config={"retention.ms": "7"})
    before = node.memory.revision
    same = {TOPIC: [ConfigChange("retention.ms", "set", "7")]}
    other = {TOPIC: [ConfigChange("retention.ms", "set", "8")]}
    assert await node.controller.alter_configs(same) == {TOPIC: None}
    assert await node.controller.alter_configs(other, validate_only=True) == {TOPIC: None}
    assert await node.controller.replace_configs({TOPIC: {}}, validate_only=True) == {TOPIC: None}
    assert node.memory.revision == before


# --- leaders and replicas


async def test_elections(node: Node) -> None:
    other = await Node(2, store=node.store, clock=node.clock).start()
    await settle()
    await created(node, "a", -1, assignment={0: [2, 1], 1: [1, 2]})
    first, second = TopicPartition("a", 0), TopicPartition("a", 1)
    answers = await node.controller.elect_leaders([first, TopicPartition("a", 9)])
    assert type(answers[first]) is ElectionNotNeeded
    assert type(answers[TopicPartition("a", 9)]) is UnknownTopicOrPartition
    assert await node.controller.elect_leaders(None) == {}
    await other.stop()
    await settle()
    answers = await node.controller.elect_leaders([first, second], unclean=True)
    assert answers[first] is None
    assert type(answers[second]) is ElectionNotNeeded
    assert node.image.topics["a"].partitions[0] == PartitionImage((2, 1), (2, 1), 1, 1, 1)
    other = await Node(2, store=node.store, clock=node.clock).start()
    await settle()
    assert await node.controller.elect_leaders(None) == {first: None}
    assert node.image.topics["a"].partitions[0] == PartitionImage((2, 1), (2, 1), 2, 2, 2)
    await other.stop()


async def test_reassignments(node: Node) -> None:
    await created(node, "a")
    at = TopicPartition("a", 0)
    assert await node.controller.alter_reassignments({at: [1]}) == {at: None}
    assert type((await node.controller.alter_reassignments({at: [2]}))[at]) is InvalidReplicaAssignment
    assert type((await node.controller.alter_reassignments({at: None}))[at]) is NoReassignmentInProgress
    assert node.controller.list_reassignments(None) == ()
    with pytest.raises(UnknownTopicOrPartition):
        node.controller.list_reassignments([TopicPartition("b", 0)])


# --- producer ids


async def test_blocks_of_producer_ids_never_overlap() -> None:
    clock = SimulatedClock()
    first = Node(1, clock=clock)
    second = Node(2, store=first.store, clock=clock)
    blocks = await asyncio.gather(
        *(node.controller.allocate_producer_ids(10) for node in (first, second) * 5)
    )
    ids = [producer_id for block in blocks for producer_id in block]
    assert sorted(ids) == list(range(100))


async def test_producer_ids_when_the_store_refuses(node: Node) -> None:
    node.memory.failures.append(MetadataWriteFailed("full"))
    with pytest.raises(MetadataNotAvailable, match="full"):
        await node.controller.allocate_producer_ids(10)
    assert await node.controller.allocate_producer_ids(10) == range(10)
    with pytest.raises(ValueError):
        await node.controller.allocate_producer_ids(0)
    await node.store.transact([], [Put(keys.PRODUCER_IDS, b'{"next_producer_id":%d}' % (2**63 - 5))])
    with pytest.raises(MetadataNotAvailable, match="given out"):
        await node.controller.allocate_producer_ids(10)


# --- who may decide


async def test_a_node_without_the_claim_decides_nothing(node: Node) -> None:
    other = await Node(2, store=node.store, clock=node.clock).start()
    topic = await created(node, "a")
    await settle()
    revision = node.memory.revision
    control = other.controller
    missing = TopicId(bytes(16))
    assert type((await control.create_topics([NewTopic("b", 1)]))["b"]) is NotController
    answers = await control.delete_topics([topic.topic_id, missing])
    assert [type(answer) for answer in answers.values()] == [NotController, NotController]
    assert type((await control.create_partitions([NewPartitions("a", 3)]))["a"]) is NotController
    change = {TOPIC: [ConfigChange("retention.ms", "set", "1")]}
    assert type((await control.alter_configs(change))[TOPIC]) is NotController
    at = TopicPartition("a", 0)
    assert type((await control.elect_leaders([at]))[at]) is NotController
    assert type((await control.alter_reassignments({at: [1]}))[at]) is NotController
    assert node.memory.revision == revision
    await other.stop()


async def test_a_controller_that_lost_its_claim_without_knowing_changes_nothing(node: Node) -> None:
    await node.store.transact([], [Put(keys.CONTROLLER, b'{"node_id":2}')])
    assert node.membership.fence  # it does not know yet
    answers = await node.controller.create_topics([NewTopic("a", 1)])
    assert type(answers["a"]) is NotController
    assert "a" not in node.image.topics
    assert await node.store.get(keys.topic_key("a")) is None


async def test_a_topic_that_appeared_behind_its_back_is_not_overwritten(node: Node) -> None:
    gate = node.memory.gate = asyncio.Event()
    creating = asyncio.create_task(node.controller.create_topics([NewTopic("a", 1)]))
    await settle()
    node.memory.gate = None
    other = encode_topic(TopicImage("a", TopicId(b"x" * 16), (PartitionImage((1,), (1,), 1, 0),)))
    await node.store.transact([], [Put(keys.topic_key("a"), other)])
    gate.set()
    answer = (await creating)["a"]
    assert type(answer) is MetadataNotAvailable
    assert "try again" in str(answer)
    assert node.image.topics["a"].topic_id == b"x" * 16


async def test_a_store_that_refuses_fails_the_part_and_no_more(node: Node) -> None:
    node.memory.failures.extend([None, MetadataWriteFailed("full")])  # of three transactions, the second
    answers = await node.controller.create_topics([NewTopic(f"t{n}", 1) for n in range(250)])
    failed = [name for name, answer in answers.items() if isinstance(answer, MainstemError)]
    assert failed == [f"t{n}" for n in range(100, 200)]
    assert type(answers["t100"]) is MetadataNotAvailable
    assert len(node.image.topics) == 150


async def test_a_success_means_that_the_rooms_have_applied_it(node: Node) -> None:
    applied: list[str] = []

    async def slow(_: object, delta: object) -> None:
        await asyncio.sleep(0.002)
        applied.extend(topic.name for topic in delta.created)  # type: ignore[attr-defined]

    node.follower.subscribe(slow)
    await created(node, "a")
    assert applied == ["a"]


async def test_a_request_that_is_given_up_leaves_the_controller_free(node: Node) -> None:
    gate = node.memory.gate = asyncio.Event()
    creating = asyncio.create_task(node.controller.create_topics([NewTopic("a", 1)]))
    await settle()
    creating.cancel()
    await settle()
    assert not creating.done()  # what it sent to the store may still be written
    node.memory.gate = None
    gate.set()
    await asyncio.gather(creating, return_exceptions=True)
    assert creating.cancelled()
    assert "a" in node.image.topics
    await node.store.transact([], [Delete(keys.topic_key("a"))])
    await created(node, "b")
