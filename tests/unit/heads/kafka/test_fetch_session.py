"""Fetch sessions: what is remembered, told, refused and evicted."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mainstem.core.errors import UnknownTopicId
from mainstem.core.fetch_request import FetchEntry
from mainstem.core.partition import FetchResult
from mainstem.heads.kafka import fetch_session
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.fetch_envelope import FetchEnvelope, TopicNaming, TopicPartitionName
from mainstem.heads.kafka.fetch_session import (
    EVICTION_MS,
    FetchPlan,
    FetchSessions,
    SessionRefused,
    next_epoch,
)
from mainstem.model.ids import TopicId

ID = b"orders' topic id"
FULL, SESSIONLESS = 0, -1


class Time:
    ms = 0.0

    def __call__(self) -> float:
        return self.ms


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def sessions(time: Time) -> FetchSessions:
    return FetchSessions(4, time)


def envelope(
    epoch: int,
    session_id: int = 0,
    wanted: Sequence[tuple[int, int]] = (),
    forgotten: Sequence[int] = (),
    topic: str = "orders",
) -> FetchEnvelope:
    entries = [
        FetchEntry(topic, partition, offset, 100, topic_id=TopicId(ID)) for partition, offset in wanted
    ]
    gone = [TopicPartitionName(ID, partition) for partition in forgotten]
    return FetchEnvelope(0, 1, 100, 0, session_id, epoch, entries, [ID] * len(entries), gone)


def plan(sessions: FetchSessions, request: FetchEnvelope, names: dict[bytes, str] | None = None) -> FetchPlan:
    known: Any = {topic_id: SimpleNamespace(name=name) for topic_id, name in (names or {}).items()}
    return sessions.plan(request, TopicNaming.TOPIC_ID, known)


def at(watermark: int, start: int = 0) -> FetchResult:
    return FetchResult(None, watermark, watermark, start, None)


def with_records(watermark: int) -> FetchResult:
    return FetchResult(None, watermark, watermark, 0, SimpleNamespace(length=10))  # type: ignore[arg-type]


FAILED = FetchResult(UnknownTopicId(), -1, -1, -1, None)


def begin(sessions: FetchSessions, partitions: Sequence[int], watermark: int = 5) -> int:
    wanted = [(partition, 0) for partition in partitions]
    session_id, _ = plan(sessions, envelope(FULL, wanted=wanted)).settle([at(watermark)] * len(wanted))
    return session_id


def told_partitions(plan: FetchPlan, results: Sequence[FetchResult]) -> list[int]:
    return [entry.partition for _, entry, _ in plan.settle(results)[1]]


def refusal_of(sessions: FetchSessions, request: FetchEnvelope) -> ErrorCode:
    with pytest.raises(SessionRefused) as caught:
        plan(sessions, request)
    return caught.value.code


def test_without_a_session_everything_is_told_and_nothing_remembered(sessions: FetchSessions) -> None:
    fetch = plan(sessions, envelope(SESSIONLESS, wanted=[(0, 7), (1, 8)]))
    assert [entry.offset for entry in fetch.entries] == [7, 8]
    session_id, told = fetch.settle([at(5), FAILED])
    assert session_id == 0
    assert [(name, entry.partition) for name, entry, _ in told] == [(ID, 0), (ID, 1)]
    assert len(sessions) == 0


def test_a_full_fetch_tells_everything_and_opens_a_session(sessions: FetchSessions) -> None:
    fetch = plan(sessions, envelope(FULL, wanted=[(0, 0), (1, 0)]))
    session_id, told = fetch.settle([at(5), at(6)])
    assert session_id > 0
    assert len(told) == 2
    assert (len(sessions), sessions.partition_count) == (1, 2)


def test_no_news_is_not_told(sessions: FetchSessions) -> None:
    session_id = begin(sessions, [0, 1, 2])
    fetch = plan(sessions, envelope(1, session_id))
    assert [entry.partition for entry in fetch.entries] == [0, 1, 2]
    assert fetch.settle([at(5)] * 3) == (session_id, [])


@pytest.mark.parametrize("news", [with_records(5), at(6), at(5, start=1), FAILED])
def test_records_errors_and_other_offsets_are_news(sessions: FetchSessions, news: FetchResult) -> None:
    session_id = begin(sessions, [0, 1])
    assert told_partitions(plan(sessions, envelope(1, session_id)), [at(5), news]) == [1]


def test_a_partition_is_told_again_when_its_error_is_over(sessions: FetchSessions) -> None:
    session_id = begin(sessions, [0])
    assert told_partitions(plan(sessions, envelope(1, session_id)), [FAILED]) == [0]
    assert told_partitions(plan(sessions, envelope(2, session_id)), [FAILED]) == [0]
    assert told_partitions(plan(sessions, envelope(3, session_id)), [at(5)]) == [0]
    assert told_partitions(plan(sessions, envelope(4, session_id)), [at(5)]) == []


def test_partitions_are_added_moved_and_forgotten(sessions: FetchSessions) -> None:
    session_id = begin(sessions, [0, 1])
    fetch = plan(sessions, envelope(1, session_id, wanted=[(1, 40), (2, 50)], forgotten=[0, 9]))
    assert [(entry.partition, entry.offset) for entry in fetch.entries] == [(1, 40), (2, 50)]
    assert told_partitions(fetch, [at(5), at(5)]) == [2]  # a new one has never been told
    assert sessions.partition_count == 2


def test_who_sent_records_goes_to_the_end(sessions: FetchSessions) -> None:
    session_id = begin(sessions, [0, 1, 2])
    plan(sessions, envelope(1, session_id)).settle([with_records(5), at(6), at(5)])
    assert [e.partition for e in plan(sessions, envelope(2, session_id)).entries] == [1, 2, 0]


def test_an_unknown_session_is_refused(sessions: FetchSessions) -> None:
    assert refusal_of(sessions, envelope(1, 4711)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [2, 5])
def test_a_lost_or_repeated_request_is_refused(sessions: FetchSessions, epoch: int) -> None:
    session_id = begin(sessions, [0])
    assert refusal_of(sessions, envelope(epoch, session_id)) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    plan(sessions, envelope(1, session_id))
    assert refusal_of(sessions, envelope(1, session_id)) is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_session_keeps_to_one_way_of_naming_topics(sessions: FetchSessions) -> None:
    session_id = begin(sessions, [0])
    with pytest.raises(SessionRefused) as caught:
        sessions.plan(envelope(1, session_id), TopicNaming.COMPACT_NAME, {})
    assert caught.value.code is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_fetch_that_was_overtaken_while_it_waited_is_refused(sessions: FetchSessions) -> None:
    session_id = begin(sessions, [0])
    waiting = plan(sessions, envelope(1, session_id))
    plan(sessions, envelope(2, session_id, forgotten=[0], wanted=[(1, 0)]))
    with pytest.raises(SessionRefused) as caught:
        waiting.settle([at(9)])
    assert caught.value.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH


@pytest.mark.parametrize("epoch", [FULL, SESSIONLESS])
def test_a_full_fetch_ends_the_session_that_it_names(sessions: FetchSessions, epoch: int) -> None:
    session_id = begin(sessions, [0])
    plan(sessions, envelope(epoch, session_id)).settle([])
    assert refusal_of(sessions, envelope(1, session_id)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_that_forgets_its_last_partition_ends(sessions: FetchSessions) -> None:
    session_id = begin(sessions, [0])
    fetch = plan(sessions, envelope(1, session_id, forgotten=[0]))
    assert fetch.settle([]) == (0, [])
    assert (len(sessions), sessions.partition_count) == (0, 0)


def test_the_epoch_begins_again_after_the_last_int32() -> None:
    assert next_epoch(0) == 1
    assert next_epoch(2**31 - 1) == 1


def test_a_topic_that_nobody_knew_is_found_when_it_is_heard_of(sessions: FetchSessions) -> None:
    fetch = plan(sessions, envelope(FULL, wanted=[(0, 0)], topic=""))
    session_id, _ = fetch.settle([FAILED])
    assert plan(sessions, envelope(1, session_id)).entries[0].topic == ""
    assert plan(sessions, envelope(2, session_id), {ID: "orders"}).entries[0].topic == "orders"
    assert plan(sessions, envelope(3, session_id)).entries[0].topic == "orders"


def test_a_nameless_partition_can_be_forgotten(sessions: FetchSessions) -> None:
    fetch = plan(sessions, envelope(FULL, wanted=[(0, 0), (1, 0)], topic=""))
    session_id, _ = fetch.settle([FAILED, FAILED])
    fetch = plan(sessions, envelope(1, session_id, forgotten=[0]), {ID: "orders"})
    assert [entry.topic for entry in fetch.entries] == ["orders"]


# ---------------------------------------------------------------------------- slots


def test_no_slot_means_no_session(time: Time) -> None:
    assert begin(FetchSessions(0, time), [0]) == 0


def test_young_sessions_keep_their_slots(sessions: FetchSessions, time: Time) -> None:
    kept = [begin(sessions, [0]) for _ in range(4)]
    time.ms = EVICTION_MS - 1
    assert begin(sessions, [0, 1, 2]) == 0
    for session_id in kept:
        plan(sessions, envelope(1, session_id))


def test_an_unused_session_gives_way(sessions: FetchSessions, time: Time) -> None:
    unused, *used = [begin(sessions, [0, 1, 2]) for _ in range(4)]
    time.ms = EVICTION_MS / 2
    for session_id in used:
        plan(sessions, envelope(1, session_id))
    time.ms = EVICTION_MS + 1
    assert begin(sessions, [0]) > 0
    assert refusal_of(sessions, envelope(1, unused)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    for session_id in used:
        plan(sessions, envelope(2, session_id))
    assert sessions.evictions == 1


def test_a_small_old_session_gives_way_to_a_larger_one_only(sessions: FetchSessions, time: Time) -> None:
    small = begin(sessions, [0, 1])
    large = [begin(sessions, [0, 1, 2]) for _ in range(3)]
    time.ms = EVICTION_MS
    for session_id in (small, *large):
        plan(sessions, envelope(1, session_id))  # all are in use
    time.ms = EVICTION_MS + 1
    assert begin(sessions, [0, 1]) == 0
    assert begin(sessions, [0, 1, 2, 3]) > 0
    assert refusal_of(sessions, envelope(2, small)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    for session_id in large:
        plan(sessions, envelope(2, session_id))


def test_all_sessions_together_are_bounded(time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_session, "MOST_PARTITIONS", 5)
    sessions = FetchSessions(100, time)
    first = begin(sessions, [0, 1, 2])
    assert begin(sessions, [0, 1, 2]) == 0
    second = begin(sessions, [0, 1])
    grown = envelope(1, second, wanted=[(7, 0)])
    assert refusal_of(sessions, grown) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (len(sessions), sessions.partition_count) == (1, 3)
    plan(sessions, envelope(1, first))


# ---------------------------------------------------------------------------- a client that only listens

PARTITIONS = range(5)


class ClientView(RuleBasedStateMachine):
    """Whatever happens, a client of a session knows of its partitions what it would know without one."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions = FetchSessions(2, Time())
        self.truth = dict.fromkeys(PARTITIONS, at(0))
        self.wanted: set[int] = set()
        self.known: dict[int, FetchResult] = {}
        self.session_id = 0
        self.epoch = FULL

    @rule(partition=st.sampled_from(PARTITIONS), watermark=st.integers(0, 3), start=st.integers(0, 2))
    def offsets_move(self, partition: int, watermark: int, start: int) -> None:
        self.truth[partition] = at(watermark, start)

    @rule(partition=st.sampled_from(PARTITIONS))
    def it_fails(self, partition: int) -> None:
        self.truth[partition] = FAILED

    @rule(wanted=st.sets(st.sampled_from(PARTITIONS)), again=st.booleans())
    def fetch(self, wanted: set[int], again: bool) -> None:
        is_full = self.epoch == FULL
        added = wanted if is_full or again else wanted - self.wanted
        forgotten = () if is_full else tuple(self.wanted - wanted)
        request = envelope(self.epoch, self.session_id, [(p, 0) for p in sorted(added)], forgotten)
        fetch = plan(self.sessions, request)
        assert {entry.partition for entry in fetch.entries} == wanted
        self.session_id, told = fetch.settle([self.truth[entry.partition] for entry in fetch.entries])
        for _, entry, result in told:
            self.known[entry.partition] = result
        self.known = {p: result for p, result in self.known.items() if p in wanted}
        self.wanted = wanted
        self.epoch = next_epoch(self.epoch) if self.session_id else FULL
        assert self.known == {p: self.truth[p] for p in wanted}

    @rule()
    def others_come_and_go(self) -> None:
        other = begin(self.sessions, [0, 1])
        if other:
            plan(self.sessions, envelope(SESSIONLESS, other)).settle([])

    @rule()
    def an_answer_is_lost(self) -> None:
        if self.session_id and self.epoch != FULL:
            plan(self.sessions, envelope(self.epoch, self.session_id))
            code = refusal_of(self.sessions, envelope(self.epoch, self.session_id))
            assert code in (ErrorCode.INVALID_FETCH_SESSION_EPOCH, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            self.epoch = FULL

    @invariant()
    def the_count_is_true(self) -> None:
        held = [session.partitions for session in self.sessions._sessions.values()]
        assert self.sessions.partition_count == sum(map(len, held))


ClientView.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestClientView = ClientView.TestCase
