"""The errors of the cluster room, by who has to act."""

from __future__ import annotations

from mainstem.model.errors import BrokerError, DiskError

# --- a caller of the metadata store asked for something that no store does


class TransactionTooLarge(BrokerError):
    """More operations or bytes than every store behind the port must take at once."""


class DuplicateKey(BrokerError):
    """One branch of a transaction writes one key twice."""


class IllegalKey(BrokerError):
    """A key that is no text: it has no UTF-8."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key!a} cannot be a key of the metadata store: it is not valid Unicode text")


class LeaseNotFound(BrokerError):
    """The lease ended: its time ran out, it was revoked, or the store was closed in between."""

    def __init__(self, lease_id: int) -> None:
        super().__init__(f"lease {lease_id} has ended")
        self.lease_id = lease_id


class RevisionCompacted(BrokerError):
    """The history before `oldest_revision` is gone: read the present state and watch on from there."""

    def __init__(self, asked_revision: int, oldest_revision: int) -> None:
        super().__init__(f"revision {asked_revision} is no longer kept, the oldest is {oldest_revision}")
        self.asked_revision = asked_revision
        self.oldest_revision = oldest_revision


class StoreBusy(BrokerError):
    """Too many calls wait for the store."""


class StoreClosed(BrokerError):
    """The store was closed, or its thread ended, before the call was done."""


# --- the disk under the embedded store


class MetadataWriteFailed(DiskError):
    """The disk refused a write or a read; nothing of the transaction was applied."""


class MetadataDamaged(DiskError):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"the metadata file {path} is damaged ({reason}). Keep it: it knows the ids of your topics. "
            f"Stop the broker and restore {path} from a backup (remove {path}-wal with it), or copy what "
            f"is readable with `sqlite3 {path} .recover | sqlite3 repaired.db` and put that in its place."
        )
        self.path = path


class MetadataTooNew(DiskError):
    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(
            f"the metadata file {path} has schema version {found}, this release knows up to {known}: "
            "start the release that wrote it, or a newer one."
        )
        self.path = path


class MetadataInUse(DiskError):
    def __init__(self, path: str) -> None:
        super().__init__(
            f"the metadata file {path} is held by another process: stop the broker that uses it, "
            "or give this one a data directory of its own."
        )
        self.path = path


# --- what stands in the store


class EntryUnreadable(BrokerError):
    """A value in the store is not what its key promises."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"the metadata entry {key} cannot be read: {reason}")
        self.key = key


# --- taking over what Kafka wrote


class KafkaMetadataUnreadable(BrokerError):
    """Kafka's metadata log is not what it should be."""

    def __init__(self, path: str, reason: str) -> None:
        self.statement = f"Kafka's metadata cannot be read: {path}: {reason}"
        self.cure = "if that broker was killed, start it once more and stop it cleanly"
        super().__init__(f"{self.statement}; {self.cure}")


class CannotAdopt(BrokerError):
    """The directories cannot be taken over as they are; `cure` says what to do."""

    def __init__(self, problem: str, cure: str) -> None:
        super().__init__(f"{problem}; {cure}")
        self.statement = problem
        self.cure = cure


# --- membership


class NodeIdInUse(BrokerError):
    def __init__(self, node_id: int) -> None:
        super().__init__(
            f"another live node is registered as node {node_id}: give each node a node.id of its own"
        )
        self.node_id = node_id


class ClusterIdMismatch(BrokerError):
    def __init__(self, expected: str, found: str) -> None:
        super().__init__(
            f"the data directories belong to cluster {expected}, the metadata store to cluster {found}: "
            "point the broker at the directories and the store of one cluster"
        )
