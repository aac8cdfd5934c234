"""The offsets of one shard that open transactions hold: committed when their transaction is, or never.

Replayed state, like the groups: a transactional record is held, a marker lets go what its producer held.
Where several hold an offset for the same partition of a group, or it is committed without a transaction
meanwhile, the record that stands last in the log counts, whichever transaction ends last. So what stands
before a record that was committed is not held any more.
"""

from __future__ import annotations

from collections.abc import Collection

from mainstem.core.groups.records import CommittedOffset, OffsetRecord

_Key = tuple[str, int]  # topic and partition
_Holders = dict[int, CommittedOffset]  # by producer id, in the order of the log


class PendingOffsets:
    def __init__(self) -> None:
        self._groups: dict[str, dict[_Key, _Holders]] = {}
        self._groups_of: dict[int, set[str]] = {}  # the groups that a producer may hold something of

    def hold(self, producer_id: int, record: OffsetRecord) -> None:
        assert record.value is not None
        held = self._groups.setdefault(record.group_id, {})
        holders = held.setdefault((record.topic, record.partition), {})
        holders.pop(producer_id, None)
        holders[producer_id] = record.value
        self._groups_of.setdefault(producer_id, set()).add(record.group_id)

    def end(self, producer_id: int, *, is_commit: bool) -> dict[str, list[OffsetRecord]]:
        """What the producer held, by group, held no longer; nor is, after a commit, what stands before it."""
        ended: dict[str, list[OffsetRecord]] = {}
        for group_id in self._groups_of.pop(producer_id, ()):
            records = ended[group_id] = []
            held = self._groups.get(group_id, {})
            for key in [key for key, holders in held.items() if producer_id in holders]:
                holders = held[key]
                before = list(holders).index(producer_id)
                records.append(OffsetRecord(group_id, *key, holders.pop(producer_id)))
                for other in list(holders)[:before] if is_commit else ():
                    del holders[other]
                if not holders:
                    del held[key]
            self._drop_if_empty(group_id)
        return ended

    def supersede(self, record: OffsetRecord) -> None:
        """The record stands behind all that is held for its partition."""
        held = self._groups.get(record.group_id)
        if held is not None and held.pop((record.topic, record.partition), None) is not None:
            self._drop_if_empty(record.group_id)

    def of_group(self, group_id: str) -> Collection[_Key]:
        """The partitions of which something is held."""
        return self._groups.get(group_id, {}).keys()

    def _drop_if_empty(self, group_id: str) -> None:
        if not self._groups.get(group_id, True):
            del self._groups[group_id]

    @property
    def producer_count(self) -> int:
        return len(self._groups_of)
