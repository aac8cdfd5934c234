"""The metadata store as a port: a small subset of etcd's own model.

A store is one map from keys to values with one counter, the *revision*. A transaction that changes
anything makes the next revision; all its changes carry that revision, and a change is never seen in
part. A transaction that changes nothing (its branch is empty, or deletes what is not there) leaves
the revision alone. A key remembers the revision of its last change (`mod_revision`) and of its
creation (`create_revision`); to a compare, a key that does not exist has `mod_revision` 0.

    transact(compares, then, otherwise)   every compare holds: `then` runs, else `otherwise` does

A watch starts at a revision and delivers each later change once, in order of revision, whole
revisions at a time. Whoever reads a `range` and watches from the revision after it misses nothing.
History is bounded: a watch that asks for what is gone fails with `RevisionCompacted`, and the
watcher reads the range again.

A lease lives as long as somebody keeps it alive. Keys put under a lease vanish with it, in one
revision. A later put of such a key without the lease detaches it.

What etcd limits, the port limits for every implementation, so that what works on one machine works
in a cluster: 128 operations and 1.5 MiB in one transaction, no key written twice in one branch.
Keys are text and are compared by their UTF-8 bytes; values are bytes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from mainstem.cluster.errors import DuplicateKey, IllegalKey, TransactionTooLarge

# etcd's defaults of --max-txn-ops and --max-request-bytes; the latter with room for its framing.
MAX_TRANSACTION_OPERATIONS = 128
MAX_TRANSACTION_BYTES = 1_500_000


class Entry(NamedTuple):
    key: str
    value: bytes
    create_revision: int
    mod_revision: int
    lease_id: int  # 0: none


class Range(NamedTuple):
    entries: tuple[Entry, ...]  # in order of key
    revision: int  # of the store when it was read: watch on from the next


class Compare(NamedTuple):
    """Holds when all that is given holds of `key`. A value never equals that of a missing key."""

    key: str
    mod_revision: int | None = None  # 0: the key does not exist
    value: bytes | None = None
    exists: bool | None = None


class Put(NamedTuple):
    key: str
    value: bytes
    lease_id: int = 0


class Delete(NamedTuple):
    key: str


class Get(NamedTuple):
    key: str


Operation = Put | Delete | Get


class TransactionResult(NamedTuple):
    succeeded: bool  # whether the compares held, and with it which branch ran
    revision: int  # of the store after it
    found: tuple[Entry | None, ...]  # one per `Get` of the branch that ran, in its order


class Event(NamedTuple):
    key: str
    value: bytes | None  # None: deleted
    revision: int


class WatchBatch(NamedTuple):
    events: tuple[Event, ...]  # of whole revisions, in order; never empty
    revision: int  # everything up to this one has been delivered


class Watch(Protocol):
    """Ends only by `close`, or with an error. One reader at a time."""

    def __aiter__(self) -> AsyncIterator[WatchBatch]: ...

    async def __anext__(self) -> WatchBatch: ...

    def close(self) -> None: ...


class MetadataStore(Protocol):
    async def get(self, key: str) -> Entry | None: ...

    async def range(self, prefix: str) -> Range: ...

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        """Durable when it returns. An error other than `PeerError` leaves open whether it happened."""
        ...

    def watch(self, prefix: str, from_revision: int) -> Watch: ...

    async def grant_lease(self, ttl_ms: int) -> int: ...

    async def keep_alive(self, lease_id: int) -> None:
        """Gives the lease its whole time again; raises `LeaseNotFound` once it has ended."""
        ...

    async def revoke(self, lease_id: int) -> None:
        """Ends the lease and its keys now; one that has ended already is fine."""
        ...

    async def close(self) -> None: ...


def check_transaction(
    compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation]
) -> None:
    """The limits of the port. Every store calls this first, so that all refuse the same."""
    if max(len(compares), len(then), len(otherwise)) > MAX_TRANSACTION_OPERATIONS:
        raise TransactionTooLarge(
            f"a transaction takes {MAX_TRANSACTION_OPERATIONS} compares and as many operations in each branch"
        )
    size = sum(len(key_bytes(compare.key)) + len(compare.value or b"") for compare in compares)
    for branch in (then, otherwise):
        written: set[str] = set()
        for operation in branch:
            size += operation_bytes(operation)
            if isinstance(operation, Get):
                continue
            if operation.key in written:
                raise DuplicateKey(f"{operation.key} is written twice in one transaction")
            written.add(operation.key)
    if size > MAX_TRANSACTION_BYTES:
        raise TransactionTooLarge(
            f"a transaction takes {MAX_TRANSACTION_BYTES} bytes of keys and values, this one has {size}"
        )


def operation_bytes(operation: Operation) -> int:
    return len(key_bytes(operation.key)) + (len(operation.value) if isinstance(operation, Put) else 0)


def key_bytes(key: str) -> bytes:
    try:
        return key.encode()
    except UnicodeEncodeError as error:
        raise IllegalKey(key) from error
