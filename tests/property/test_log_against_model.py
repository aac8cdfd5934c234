"""A partition log against a list: random appends, rolls, retention, deletions, stops and crashes."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.support.logs import START_MS, StandingClock, append, batch_of, place_in, storage_on

from mainstem.config.topic_options import TopicConfig
from mainstem.log.errors import OffsetOutOfRange
from mainstem.log.loading import LogPlace, create_log, open_clean_log, recover_log
from mainstem.log.partition_log import PartitionLog
from mainstem.model.batch import parse_header
from mainstem.model.records import decode_records

CONFIG = TopicConfig(
    segment_bytes=2_000, index_interval_bytes=200, retention_ms=60_000, retention_bytes=-1, segment_ms=20_000
)


@dataclass
class Model:
    times: list[int] = field(default_factory=list)  # of each record, by offset
    values: list[bytes] = field(default_factory=list)
    batch_starts: list[int] = field(default_factory=list)
    start: int = 0
    flushed: int = 0


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = StandingClock()
        self.place = place_in(self.folder.name, CONFIG)
        self.storage = storage_on(clock=self.clock)
        self.log: PartitionLog = create_log(self.storage, self.place, sync=False)
        self.model = Model()
        self.chance = random.Random(3)

    def teardown(self) -> None:
        self.log.abandon()
        self.folder.cleanup()

    # --- changes

    @rule(sizes=st.lists(st.integers(0, 300), min_size=1, max_size=6), batches=st.integers(1, 3))
    def append(self, sizes: list[int], batches: int) -> None:
        made = []
        for _ in range(batches):
            values = [self.chance.randbytes(size) for size in sizes]
            time_ms = self.clock.time_ms + self.chance.randint(-50, 50)
            made.append(batch_of(*values, time_ms=time_ms))
            self.model.batch_starts.append(len(self.model.values))
            self.model.values += values
            self.model.times += [time_ms + number for number in range(len(values))]
        before = self.log.log_end_offset
        assert append(self.log, *made) == before

    @rule(ms=st.integers(0, 30_000))
    def time_passes(self, ms: int) -> None:
        self.clock.time_ms += ms

    @rule()
    def flush(self) -> None:
        assert self.log.flush() == len(self.model.values)
        self.model.flushed = len(self.model.values)

    @precondition(lambda self: self.model.values)
    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(0, len(self.model.values)))
        self.log.delete_records(offset)
        self.model.start = max(self.model.start, offset)

    @rule()
    def retention(self) -> None:
        self.log.roll_if_due(self.clock.time_ms)
        before = self.log.segments
        count = self.log.delete_due_segments(self.clock.time_ms, limit_offset=self.log.log_end_offset)
        for segment, following in zip(before[:count], [*before[1:], self.log.active], strict=False):
            last = following.base_offset
            is_old = max(self.model.times[segment.base_offset : last], default=START_MS) < (
                self.clock.time_ms - CONFIG.retention_ms
            )
            assert is_old or last <= self.model.start
        assert self.log.log_start_offset >= self.model.start
        self.model.start = self.log.log_start_offset
        assert not any(
            self.model.times[offset] < self.clock.time_ms - CONFIG.retention_ms - 200
            for offset in range(self.model.start, len(self.model.times))
            if self.log.segments[0].base_offset > offset
        )

    @rule()
    def purge(self) -> None:
        self.clock.time_ms += CONFIG.file_delete_delay_ms
        self.log.purge_deleted(self.clock.time_ms)
        assert not self.log.has_deleted_segments

    # --- stops

    @rule()
    def stop_and_start(self) -> None:
        self.log.close()
        state = self.log.clean_state()
        self.storage = storage_on(clock=self.clock)
        again = open_clean_log(self.storage, self.place, state, self.log.log_start_offset)
        assert again is not None
        self.log = again

    @rule(knows_start=st.booleans())
    def crash(self, knows_start: bool) -> None:
        """The process is gone; the page cache is not. The last checkpoint may be an old one."""
        point, start = self.log.recovery_point, self.log.log_start_offset
        self.log.abandon()
        self.storage = storage_on(clock=self.clock)
        place = LogPlace(
            self.place.directory, self.place.topic_partition, self.place.topic_id, self.place.config
        )
        self.log = recover_log(
            self.storage, place, recovery_point=point, log_start_offset=start if knows_start else 0
        )
        self.model.start = self.log.log_start_offset
        if knows_start:
            assert self.log.log_start_offset == start

    # --- looking

    @precondition(lambda self: self.model.values)
    @rule(data=st.data(), max_bytes=st.integers(1, 5_000))
    def locate(self, data: st.DataObject, max_bytes: int) -> None:
        log, model = self.log, self.model
        first = log.segments[0].base_offset
        if first >= len(model.values):
            return
        offset = data.draw(st.integers(first, len(model.values) - 1))
        limit = data.draw(
            st.sampled_from([start for start in model.batch_starts if start > offset] or [None])
        )
        end = len(model.values) if limit is None else limit
        found = log.locate(offset, max_bytes, end, at_least_one=True)
        assert found is not None
        content = found.read()
        assert len(content) == found.length
        header = parse_header(content)
        assert header.base_offset <= offset <= header.last_offset
        position = 0
        while position + 61 <= len(content):
            header = parse_header(content, position)
            if position + header.size_bytes > len(content):
                break
            records = decode_records(content[position : position + header.size_bytes])
            for record in records:
                assert record.value == model.values[header.base_offset + record.offset_delta]
            assert header.next_offset <= end
            position += header.size_bytes
        assert position > 0

    @precondition(lambda self: self.model.values)
    @rule(data=st.data())
    def look_time_up(self, data: st.DataObject) -> None:
        low, high = min(self.model.times), max(self.model.times)
        timestamp = data.draw(st.integers(low - 10, high + 10))
        readable = range(self.log.log_start_offset, len(self.model.times))
        expected = next((offset for offset in readable if self.model.times[offset] >= timestamp), None)
        found = self.log.offset_for_timestamp(timestamp)
        assert (None if found is None else found.offset) == expected

    @rule()
    def outside_is_refused(self) -> None:
        try:
            self.log.delete_records(self.log.log_end_offset + 1)
        except OffsetOutOfRange:
            return
        raise AssertionError("offsets beyond the end cannot be deleted")

    @invariant()
    def ends_agree(self) -> None:
        assert self.log.log_end_offset == len(self.model.values)
        assert self.log.segments[0].base_offset <= self.log.log_start_offset <= self.log.log_end_offset
        bases = [segment.base_offset for segment in self.log.segments]
        assert bases == sorted(set(bases))


LogMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLogAgainstModel = LogMachine.TestCase
