"""confluent-kafka (librdkafka) shares work in groups: assignment, rebalances, static members, offsets."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from tests.conformance.conftest import NewName
from tests.support.confluent import QUICK_MEMBER, poll_members, produce_all
from tests.support.deadline import eventually

STRATEGIES = ("range", "roundrobin", "cooperative-sticky")


class Member(Consumer):
    """A consumer that counts what its group's rebalances did to it."""

    def __init__(self, config: dict[str, Any], topic: str) -> None:
        super().__init__(config)
        self.rebalances: Counter[str] = Counter()
        self.subscribe([topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.rebalances["assigned"] += len(partitions)

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.rebalances["revoked"] += len(partitions)

    def _on_lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.rebalances["lost"] += len(partitions)

    @property
    def partitions(self) -> set[int]:
        return {assigned.partition for assigned in self.assignment()}


NewMember = Callable[..., Member]


@pytest.fixture
def new_member(bootstrap: str) -> Iterator[NewMember]:
    """`new_member(group, topic, strategy="range", instance="", enable_auto_commit=False)`"""
    members: list[Member] = []

    def create(group: str, topic: str, strategy: str = "range", instance: str = "", **config: Any) -> Member:
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "partition.assignment.strategy": strategy,
            **QUICK_MEMBER,
            **({"group.instance.id": instance} if instance else {}),
            **{name if name == "on_commit" else name.replace("_", "."): it for name, it in config.items()},
        }
        members.append(Member(settings, topic))
        return members[-1]

    yield create
    for member in members:
        member.close()


def share(*members: Member, of: int) -> Callable[[], bool]:
    """Whether the members hold all `of` partitions, each exactly one member, and every member some."""

    def is_so() -> bool:
        held = [partition for member in members for partition in member.partitions]
        return sorted(held) == list(range(of)) and all(member.partitions for member in members)

    return is_so


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_members_join_and_leave(
    new_topic: NewName, new_group: NewName, new_member: NewMember, strategy: str
) -> None:
    topic, group = new_topic(6), new_group()
    first = new_member(group, topic, strategy)
    poll_members([first], share(first, of=6), "the first has all")

    second = new_member(group, topic, strategy)
    poll_members([first, second], share(first, second, of=6), "two share")
    assert len(first.partitions) == len(second.partitions) == 3

    third = new_member(group, topic, strategy)
    poll_members([first, second, third], share(first, second, third, of=6), "three share")
    assert {len(member.partitions) for member in (first, second, third)} == {2}

    second.close()
    poll_members([first, third], share(first, third, of=6), "the others take what the second had")
    assert first.rebalances["lost"] == third.rebalances["lost"] == 0


def test_a_cooperative_rebalance_takes_only_what_moves(
    new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    topic, group = new_topic(6), new_group()
    first = new_member(group, topic, "cooperative-sticky")
    poll_members([first], share(first, of=6), "the first has all")
    second = new_member(group, topic, "cooperative-sticky")
    poll_members([first, second], share(first, second, of=6), "two share")

    assert first.rebalances == {"assigned": 6, "revoked": 3}
    assert second.rebalances["revoked"] == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_member_that_is_killed_is_replaced(
    bootstrap: str, new_topic: NewName, new_group: NewName, new_member: NewMember, strategy: str
) -> None:
    topic, group = new_topic(4), new_group()
    survivor = new_member(group, topic, strategy)
    poll_members([survivor], share(survivor, of=4), "the survivor has all")
    settings = [
        "session.timeout.ms=1500",
        "heartbeat.interval.ms=300",
        f"partition.assignment.strategy={strategy}",
    ]
    options = [word for setting in settings for word in ("-X", setting)]
    victim = subprocess.Popen(
        ["kcat", "-b", bootstrap, "-q", *options, "-G", group, topic],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        poll_members([survivor], lambda: len(survivor.partitions) == 2, "the victim has its half")
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    poll_members([survivor], share(survivor, of=4), "the survivor has all again")


def test_nothing_is_lost_or_doubled_over_a_rebalance(
    bootstrap: str, new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    """Every message is committed before the next is taken, so a clean hand-over repeats none."""
    topic, group = new_topic(4), new_group()
    seen: Counter[bytes | None] = Counter()
    produce_all(bootstrap, topic, [b"a%d" % number for number in range(200)])

    def take_one(member: Member) -> None:
        message = member.poll(0.02)
        if message is not None:
            assert message.error() is None
            seen[message.value()] += 1
            member.commit(message, asynchronous=False)

    def take_until(is_done: Callable[[], bool], what: str, *members: Member) -> None:
        def turn() -> bool:
            for member in members:
                take_one(member)
            return is_done()

        eventually(turn, what, pause_s=0)

    first = new_member(group, topic, enable_auto_commit=False)
    take_until(lambda: len(seen) >= 100, "half is read", first)
    second = new_member(group, topic, enable_auto_commit=False)
    produce_all(bootstrap, topic, [b"b%d" % number for number in range(200)])
    take_until(share(first, second, of=4), "two share", first, second)
    take_until(lambda: len(seen) == 400, "everything is read", first, second)
    assert set(seen.values()) == {1}


def test_a_static_member_comes_back_without_a_rebalance(
    new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    topic, group = new_topic(4), new_group()
    stays = new_member(group, topic, instance="stays")
    goes = new_member(group, topic, instance="goes")
    poll_members([stays, goes], share(stays, goes, of=4), "two share")
    had, rebalances = goes.partitions, Counter(stays.rebalances)

    goes.close()  # a static member does not say good-bye
    returned = new_member(group, topic, instance="goes")
    poll_members([stays, returned], lambda: returned.partitions == had, "it has what it had")
    assert stays.rebalances == rebalances


def test_a_second_static_member_of_the_same_name_fences_the_first(
    new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    topic, group = new_topic(2), new_group()
    old = new_member(group, topic, instance="the-one")
    poll_members([old], share(old, of=2), "the old has all")
    new = new_member(group, topic, instance="the-one")
    poll_members([new], share(new, of=2), "the new has all")

    def fenced() -> bool:
        try:
            message = old.poll(0.2)
        except KafkaException as error:
            return bool(error.args[0].code() in {KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID})
        return message is not None and message.error().code() in {
            KafkaError._FATAL,
            KafkaError.FENCED_INSTANCE_ID,
        }

    eventually(fenced, "the old one is told", pause_s=0)


def test_commits_and_reads_them_back(
    bootstrap: str, new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    topic, group = new_topic(3), new_group()
    produce_all(bootstrap, topic, [{"value": str(n), "partition": n % 3} for n in range(30)])
    member = new_member(group, topic, enable_auto_commit=False)
    everywhere = [TopicPartition(topic, partition) for partition in range(3)]
    read: list[Message] = []
    poll_members([member], lambda: len(read) == 30, "all is read", read.append)

    assert {p.offset for p in member.committed(everywhere, timeout=10)} == {OFFSET_INVALID}
    done = member.commit(offsets=[TopicPartition(topic, 0, 4, metadata="a note")], asynchronous=False)
    assert done[0].error is None
    first, *others = member.committed(everywhere, timeout=10)
    assert (first.offset, first.metadata) == (4, "a note")
    assert {p.offset for p in others} == {OFFSET_INVALID}

    done = member.commit(asynchronous=False)  # everything that was consumed
    assert {(p.partition, p.offset) for p in done} == {(0, 10), (1, 10), (2, 10)}
    assert {p.offset for p in member.committed(everywhere, timeout=10)} == {10}


def test_commits_without_waiting_are_reported(
    bootstrap: str, new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    topic, group = new_topic(), new_group()
    produce_all(bootstrap, topic, [b"v"] * 5)
    reports: list[tuple[KafkaError | None, list[TopicPartition]]] = []
    member = new_member(
        group, topic, enable_auto_commit=False, on_commit=lambda error, parts: reports.append((error, parts))
    )
    read: list[Message] = []
    poll_members([member], lambda: len(read) == 5, "all is read", read.append)
    member.commit(read[2], asynchronous=True)
    poll_members([member], lambda: bool(reports), "the report")

    error, (partition,) = reports[0]
    assert error is None
    assert partition.offset == 3
    assert member.committed([TopicPartition(topic, 0)], timeout=10)[0].offset == 3


def test_a_new_member_goes_on_where_auto_commit_left_off(
    bootstrap: str, new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    topic, group = new_topic(2), new_group()
    produce_all(bootstrap, topic, [b"old-%d" % number for number in range(20)])
    first = new_member(group, topic, enable_auto_commit=True, auto_commit_interval_ms=100)
    read: list[Message] = []
    poll_members([first], lambda: len(read) == 20, "all is read", read.append)

    def committed() -> int:
        first.poll(0.05)
        everywhere = [TopicPartition(topic, partition) for partition in range(2)]
        return sum(p.offset for p in first.committed(everywhere, timeout=10) if p.offset > 0)

    eventually(lambda: committed() == 20, "auto-commit at its interval")
    produce_all(bootstrap, topic, [b"new"])
    first.close()

    second = new_member(group, topic)
    later: list[Message] = []
    poll_members([second], lambda: bool(later), "the new message", later.append)
    assert [message.value() for message in later] == [b"new"]


def test_a_commit_of_a_past_generation_is_refused(
    bootstrap: str, new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    """A member that sleeps longer than max.poll.interval.ms leaves; what it commits then must not count."""
    topic, group = new_topic(2), new_group()
    produce_all(bootstrap, topic, [b"v"] * 10)
    sleeper = new_member(
        group, topic, enable_auto_commit=False, session_timeout_ms=1_000, max_poll_interval_ms=1_000
    )
    read: list[Message] = []
    poll_members([sleeper], lambda: len(read) == 10, "all is read", read.append)
    awake = new_member(group, topic, enable_auto_commit=False)
    poll_members([awake], share(awake, of=2), "the other takes over")

    with pytest.raises(KafkaException) as refused:
        sleeper.commit(read[0], asynchronous=False)
    assert refused.value.args[0].code() in {
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
    }
    assert awake.committed([TopicPartition(topic, 0)], timeout=10)[0].offset == OFFSET_INVALID


def test_members_without_a_common_strategy_cannot_join(
    new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    topic, group = new_topic(2), new_group()
    first = new_member(group, topic, "range")
    poll_members([first], share(first, of=2), "the first has all")
    stranger = new_member(group, topic, "roundrobin")

    def refusal() -> KafkaError | None:
        message = stranger.poll(0.2)
        return None if message is None else message.error()

    error = eventually(refusal, "the stranger is told", pause_s=0)
    assert error.code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL


def test_members_with_different_subscriptions(
    new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    apples, pears, group = new_topic(2, suffix="apples"), new_topic(2, suffix="pears"), new_group()
    eats_apples = new_member(group, apples, "roundrobin")
    eats_pears = new_member(group, pears, "roundrobin")

    def is_so() -> bool:
        return [
            {assigned.topic for assigned in member.assignment()} for member in (eats_apples, eats_pears)
        ] == [{apples}, {pears}] and len(eats_apples.assignment()) == len(eats_pears.assignment()) == 2

    poll_members([eats_apples, eats_pears], is_so, "each has its topic")


def test_partitions_that_are_added_reach_the_group(
    admin: AdminClient, new_topic: NewName, new_group: NewName, new_member: NewMember
) -> None:
    topic, group = new_topic(2), new_group()
    member = new_member(group, topic, topic_metadata_refresh_interval_ms=200)
    poll_members([member], share(member, of=2), "two partitions")
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(10)
    poll_members([member], share(member, of=5), "five partitions")
