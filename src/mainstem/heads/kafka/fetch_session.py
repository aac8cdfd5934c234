"""Fetch sessions (KIP-227): the broker remembers what a consumer fetches, so that it need not repeat it.

A session is a list of partitions and an epoch. What a request means follows from its session id and epoch:

    epoch   id        meaning                                              answer
    -1      any       no session; the one named, if any, ends              every partition asked for
     0      any       a new session for these partitions; as above         every one, and the new id
    > 0     known     what changed in the list, to be fetched with the     those with records, an error, or
                      rest of it; the epoch must be the one expected       other offsets than told before
    > 0     unknown   refused; the client starts over with epoch 0

Each request in a session has the epoch after that of the request before, so a request that was lost or
repeated is noticed and refused. The epoch moves on when the request is taken; if another was taken while
this one waited for records, this one is refused when it wakes up, for its list is not the list any more.

Partitions whose records were sent go to the end of the list, so that all get their turn when the limits
of size do not suffice for all.

Slots are few. A new session takes the place of one that was not used for two minutes, or else of the
smallest that has lived for two minutes and is smaller than the new one; or else it gets none, and its
client repeats itself, which is correct but dearer.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from mainstem.core.fetch_request import FetchEntry
from mainstem.core.image import TopicImage
from mainstem.core.partition import FetchResult
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.fetch_envelope import (
    FINAL_EPOCH,
    NO_SESSION,
    FetchEnvelope,
    TopicNaming,
    TopicPartitionName,
)
from mainstem.model.ids import TopicId

INITIAL_EPOCH: Final = 0
EVICTION_MS: Final = 120_000
MOST_PARTITIONS: Final = 200_000  # of all sessions together: a remembered one costs about 400 bytes
_LARGEST_INT32: Final = 0x7FFFFFFF


class SessionRefused(Exception):
    """The client is to start over."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


class RememberedPartition:
    """A partition of a session: what to fetch, and what its client was told last."""

    __slots__ = ("entry", "high_watermark", "log_start_offset")

    def __init__(self, entry: FetchEntry, high_watermark: int = -1, log_start_offset: int = -1) -> None:
        self.entry = entry
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset

    def told(self, result: FetchResult) -> bool:
        """Notes what the client is told, and says whether that is anything new."""
        if result.error is not None:
            self.high_watermark = -1  # so that the partition is told again when the error is over
            return True
        is_new = (
            result.records is not None
            or result.high_watermark != self.high_watermark
            or result.log_start_offset != self.log_start_offset
        )
        self.high_watermark = result.high_watermark
        self.log_start_offset = result.log_start_offset
        return is_new


class FetchSession:
    __slots__ = ("created_ms", "epoch", "nameless", "naming", "partitions", "session_id", "used_ms")

    def __init__(self, session_id: int, naming: TopicNaming, now_ms: float) -> None:
        self.session_id = session_id
        self.naming = naming
        self.partitions: dict[TopicPartitionName, RememberedPartition] = {}  # in the order of their turns
        self.nameless: set[TopicPartitionName] = set()  # whose topic id nobody had yet
        self.epoch = next_epoch(INITIAL_EPOCH)  # of the next request
        self.created_ms = self.used_ms = now_ms

    def remember(self, name: TopicPartitionName, entry: FetchEntry) -> RememberedPartition:
        """Adds the partition, or takes its new position."""
        partition = self.partitions.get(name)
        if partition is None:
            partition = self.partitions[name] = RememberedPartition(entry)
        else:
            partition.entry = entry
        if not entry.topic:
            self.nameless.add(name)
        return partition

    def forget(self, name: TopicPartitionName) -> None:
        self.partitions.pop(name, None)
        self.nameless.discard(name)

    def find_names(self, topics_by_id: Mapping[TopicId, TopicImage]) -> None:
        """A topic may be heard of after it was first asked for."""
        for name in list(self.nameless):
            entry = self.partitions[name].entry
            topic = topics_by_id.get(entry.topic_id)
            if topic is not None:
                self.partitions[name].entry = entry._replace(topic=topic.name)
                self.nameless.discard(name)

    def put_last(self, name: TopicPartitionName) -> None:
        self.partitions[name] = self.partitions.pop(name)


def next_epoch(epoch: int) -> int:
    return 1 if epoch == _LARGEST_INT32 else epoch + 1


Told = tuple[bytes, FetchEntry, FetchResult]  # a partition of the answer, under the name of its topic


class FetchPlan(Protocol):
    """What to read for one request, and what to tell of it."""

    @property
    def entries(self) -> Sequence[FetchEntry]: ...

    def settle(self, results: Sequence[FetchResult]) -> tuple[int, list[Told]]:
        """The session id of the answer and its partitions. Raises SessionRefused."""
        ...

    def throttled(self) -> int:
        """The session id of an answer that tells nothing of what was read. Raises SessionRefused."""
        ...


class SessionlessPlan:
    __slots__ = ("_wire_names", "entries")

    def __init__(self, envelope: FetchEnvelope) -> None:
        self.entries = envelope.entries
        self._wire_names = envelope.wire_names

    def settle(self, results: Sequence[FetchResult]) -> tuple[int, list[Told]]:
        return NO_SESSION, list(zip(self._wire_names, self.entries, results, strict=True))

    def throttled(self) -> int:
        return NO_SESSION


class NewSessionPlan:
    """Everything is told; a session is made, if there is a slot, when the results are known."""

    __slots__ = ("_naming", "_sessions", "_wire_names", "entries")

    def __init__(self, sessions: FetchSessions, envelope: FetchEnvelope, naming: TopicNaming) -> None:
        self.entries = envelope.entries
        self._wire_names = envelope.wire_names
        self._sessions = sessions
        self._naming = naming

    def settle(self, results: Sequence[FetchResult]) -> tuple[int, list[Told]]:
        told = list(zip(self._wire_names, self.entries, results, strict=True))
        session = self._sessions.open(self._naming, told)
        return NO_SESSION if session is None else session.session_id, told

    def throttled(self) -> int:
        return NO_SESSION  # the client asks for a new one again


class SessionPlan:
    """The partitions of a session; what is no news is not told."""

    __slots__ = ("_epoch", "_names", "_session", "entries")

    def __init__(self, session: FetchSession) -> None:
        self._session = session
        self._epoch = session.epoch
        self._names = list(session.partitions)
        self.entries = [partition.entry for partition in session.partitions.values()]

    def throttled(self) -> int:
        if self._session.epoch != self._epoch:
            raise SessionRefused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        return self._session.session_id

    def settle(self, results: Sequence[FetchResult]) -> tuple[int, list[Told]]:
        session = self._session
        if session.epoch != self._epoch:
            raise SessionRefused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        news: list[Told] = []
        for name, entry, result in zip(self._names, self.entries, results, strict=True):
            if session.partitions[name].told(result):
                news.append((name[0], entry, result))
                if result.records is not None:
                    session.put_last(name)
        return session.session_id, news


class FetchSessions:
    """The sessions of all consumers, in the order of their last use."""

    def __init__(self, slots: int, monotonic_ms: Callable[[], float]) -> None:
        self._slots = slots
        self._monotonic_ms = monotonic_ms
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self.partition_count = 0
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def plan(
        self, envelope: FetchEnvelope, naming: TopicNaming, topics_by_id: Mapping[TopicId, TopicImage]
    ) -> FetchPlan:
        """Raises SessionRefused where the client is to start over."""
        if envelope.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            if envelope.session_id != NO_SESSION:
                self._close(envelope.session_id)
            if envelope.session_epoch == FINAL_EPOCH:
                return SessionlessPlan(envelope)
            return NewSessionPlan(self, envelope, naming)
        session = self._continue(envelope, naming)
        session.find_names(topics_by_id)
        if not session.partitions:
            self._close(session.session_id)
            return SessionlessPlan(envelope)
        return SessionPlan(session)

    def open(self, naming: TopicNaming, told: Sequence[Told]) -> FetchSession | None:
        """A session of these partitions; None when there is no slot for it."""
        now_ms = self._monotonic_ms()
        size = len(told)
        while len(self._sessions) >= self._slots or self.partition_count + size > MOST_PARTITIONS:
            if not self._evict(size, now_ms):
                return None
        session_id = random.randrange(1, _LARGEST_INT32)
        while session_id in self._sessions:
            session_id = random.randrange(1, _LARGEST_INT32)
        session = self._sessions[session_id] = FetchSession(session_id, naming, now_ms)
        for wire_name, entry, result in told:
            session.remember(TopicPartitionName(wire_name, entry.partition), entry).told(result)
        self.partition_count += len(session.partitions)
        return session

    def _continue(self, envelope: FetchEnvelope, naming: TopicNaming) -> FetchSession:
        session = self._sessions.get(envelope.session_id)
        if session is None:
            raise SessionRefused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != envelope.session_epoch:
            raise SessionRefused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.naming is not naming:
            raise SessionRefused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        before = len(session.partitions)
        for wire_name, entry in zip(envelope.wire_names, envelope.entries, strict=True):
            session.remember(TopicPartitionName(wire_name, entry.partition), entry)
        for name in envelope.forgotten:
            session.forget(name)
        self.partition_count += len(session.partitions) - before
        if self.partition_count > MOST_PARTITIONS:
            self._close(session.session_id)
            raise SessionRefused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        session.epoch = next_epoch(session.epoch)
        session.used_ms = self._monotonic_ms()
        self._sessions.move_to_end(session.session_id)
        return session

    def _close(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self.partition_count -= len(session.partitions)

    def _evict(self, size: int, now_ms: float) -> bool:
        """Gives up one session for a new one of `size` partitions, if one may be given up."""
        if not self._sessions:
            return False
        victim = next(iter(self._sessions.values()))
        if now_ms - victim.used_ms <= EVICTION_MS:
            settled = [s for s in self._sessions.values() if now_ms - s.created_ms > EVICTION_MS]
            if not settled:
                return False
            victim = min(settled, key=lambda session: len(session.partitions))
            if len(victim.partitions) >= size:
                return False
        self.evictions += 1
        self._close(victim.session_id)
        return True
