"""The stream: `spark.readStream.format("mainstem")`.

Spark asks for the newest point, writes it to the checkpoint, has the ranges up to it read, and tells
when that is done for good. A batch that was planned before a crash is planned again from the same two
points, so `partitions` depends on nothing but them (and on where a partition begins that was new).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import uuid4

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from mainstem.client.cluster import ClusterClient
from mainstem.client.groups import commit_offsets
from mainstem.client.log_dirs import replica_sizes
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.spark.errors import DataLost
from mainstem.spark.option_reading import Offsets
from mainstem.spark.options import SourceOptions
from mainstem.spark.positions import Positions
from mainstem.spark.ranges import OffsetRange, limited_ends
from mainstem.spark.reading import open_cluster, read_range
from mainstem.spark.source import TaskRange, task_ranges
from mainstem.spark.topics import (
    FoundTopics,
    bound_offsets,
    earliest_offsets,
    find_topics,
    latest_offsets,
)

_COMMIT_TIMEOUT_S: Final = 5.0
_log = logging.getLogger(__name__)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._opened: ClusterClient | None = None
        self._latest: Positions | None = None  # what the partitions held when last asked
        self._target: Offsets | None = None  # where a run over what is available now ends
        self._committed: Offsets = {}
        self._waiting_since: float | None = None  # monotonic seconds; fewer rows than wished for came

    def __getstate__(self) -> dict[str, Any]:
        """Tasks get a copy, without connections."""
        return {"_options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_options"])  # type: ignore[misc]

    @property
    def _cluster(self) -> ClusterClient:
        if self._opened is None:
            self._opened = open_cluster(self._options.client)
        return self._opened

    def stop(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    # --- where the stream stands

    def initialOffset(self) -> dict[str, Any]:
        options = self._options
        found = find_topics(self._cluster, options.subscription)
        offsets = bound_offsets(
            self._cluster, "starting", options.start, found.partitions, options.read_committed
        )
        group = f"{options.group_prefix}-{uuid4().hex[:12]}"
        return Positions(offsets, found.topic_ids, group).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        options = self._options
        if options.max_rows_per_trigger is not None:
            return ReadMaxRows(options.max_rows_per_trigger)
        if options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(options.max_bytes_per_trigger)
        if options.min_rows_per_trigger is not None:
            return ReadMinRows(options.min_rows_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        before = Positions.from_json(start)
        found = self._find_topics()
        self._check_topics(before, found)
        latest = latest_offsets(self._cluster, found.partitions, self._options.read_committed)
        self._latest = Positions(latest, found.topic_ids, before.group)
        starts = self._starts(before, found)
        ends = self._not_backwards(starts, latest)
        if self._target is not None:
            ends = self._up_to_target(before, starts, ends)
        if not isinstance(limit, ReadAllAvailable):
            ends = self._limited(starts, ends)
        return Positions(ends, found.topic_ids, before.group).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return None if self._latest is None else self._latest.to_json()

    def prepareForTriggerAvailableNow(self) -> None:
        found = self._find_topics()
        self._target = latest_offsets(self._cluster, found.partitions, self._options.read_committed)

    def _find_topics(self) -> FoundTopics:
        return find_topics(self._cluster, self._options.subscription, may_miss=True)

    def _check_topics(self, before: Positions, found: FoundTopics) -> None:
        losses = []
        for topic, topic_id in before.topic_ids.items():
            now = found.topic_ids.get(topic)
            if now is None:
                losses.append(f"topic {topic} is gone")
            elif now != topic_id:
                losses.append(f"topic {topic} was deleted and made again (its id was {topic_id}, now {now})")
        self._tell(losses)

    def _starts(self, before: Positions, found: FoundTopics) -> Offsets:
        """Where each partition goes on: new ones, and those of a topic made anew, at their beginning."""
        known = {
            part: offset
            for part, offset in before.offsets.items()
            if before.topic_ids[part.topic] == found.topic_ids.get(part.topic)
        }
        new = tuple(part for part in found.partitions if part not in known)
        begun = earliest_offsets(self._cluster, new)
        return {part: known[part] if part in known else begun[part] for part in found.partitions}

    def _not_backwards(self, starts: Offsets, latest: Offsets) -> Offsets:
        """An end before the start: the records in between were lost with their log."""
        self._tell(
            f"{part} ends at {end}, before offset {starts[part]} that was read already"
            for part, end in latest.items()
            if end < starts[part]
        )
        return latest

    def _up_to_target(self, before: Positions, starts: Offsets, ends: Offsets) -> Offsets:
        """A partition that came after the target was set waits for the next run."""
        assert self._target is not None
        targets = {part: self._target.get(part, starts[part]) for part in ends}
        return {
            part: min(end, max(starts[part], targets[part]))
            for part, end in ends.items()
            if part in self._target or part in before.offsets
        }

    def _tell(self, found: Iterable[str]) -> None:
        losses = list(found)
        if not losses:
            return
        if self._options.fail_on_data_loss:
            raise DataLost(losses)
        _log.warning("records may have been lost: %s", "; ".join(losses))

    # --- how much of it

    def _limited(self, starts: Offsets, ends: Offsets) -> Offsets:
        options = self._options
        if self._has_too_few(starts, ends):
            return {part: min(starts[part], end) for part, end in ends.items()}
        if options.max_rows_per_trigger is not None:
            ends = limited_ends(starts, ends, options.max_rows_per_trigger)
        if options.max_bytes_per_trigger is not None:
            ends = limited_ends(starts, ends, self._rows_in(options.max_bytes_per_trigger, starts, ends))
        return ends

    def _has_too_few(self, starts: Offsets, ends: Offsets) -> bool:
        """Whether to wait for more rows; not for longer than maxTriggerDelay, and not for a target."""
        wished = self._options.min_rows_per_trigger
        if wished is None or self._target is not None:
            return False
        waiting = sum(max(0, end - starts[part]) for part, end in ends.items())
        now = time.monotonic()
        since = self._waiting_since = now if self._waiting_since is None else self._waiting_since
        if waiting < wished and now - since < self._options.max_trigger_delay_ms / 1000:
            return True
        self._waiting_since = now
        return False

    def _rows_in(self, size_bytes: int, starts: Offsets, ends: Offsets) -> int:
        """How many rows take so many bytes in the broker's log, by the average of what it holds."""
        parts = tuple(part for part, end in ends.items() if end > starts[part])
        if not parts:
            return 1
        sizes = replica_sizes(self._cluster, sorted({part.topic for part in parts}))
        firsts = earliest_offsets(self._cluster, parts)
        held_bytes = sum(
            max((found.size_bytes for found in sizes.get(part, ())), default=0) for part in parts
        )
        held_rows = sum(ends[part] - firsts[part] for part in parts)
        return max(1, size_bytes * held_rows // held_bytes) if held_bytes > 0 else max(1, held_rows)

    # --- reading and having read

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[TaskRange]:
        before, after = Positions.from_json(start), Positions.from_json(end)
        found = FoundTopics(tuple(sorted(after.offsets)), after.topic_ids)
        starts = self._starts(before, found)
        ranges = [OffsetRange(part, starts[part], offset) for part, offset in sorted(after.offsets.items())]
        return task_ranges(self._options, ranges)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, TaskRange)
        return read_range(self._options, partition.offsets)

    def commit(self, end: dict[str, Any]) -> None:
        """Shows the position as a consumer group. The checkpoint rules; this is for those who look on."""
        if not self._options.commits_to_group:
            return
        done = Positions.from_json(end)
        changed = {part: offset for part, offset in done.offsets.items() if self._was(part) != offset}
        group = self._options.group_id or done.group
        try:
            commit_offsets(self._cluster, group, changed, timeout_s=_COMMIT_TIMEOUT_S)
        except MainstemError as error:
            _log.warning("the position could not be shown as group %s: %s", group, error)
        else:
            self._committed.update(changed)

    def _was(self, partition: TopicPartition) -> int | None:
        return self._committed.get(partition)
