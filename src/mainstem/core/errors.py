"""The errors of the core, by who has to act. Heads map them to wire codes, one table a head."""

from __future__ import annotations

# Heads must not know the log: the errors that an append or a read lets through are named here for them.
from mainstem.log.errors import BatchTooLarge as BatchTooLarge
from mainstem.log.errors import CorruptBatch as CorruptBatch
from mainstem.log.errors import DuplicateSequence as DuplicateSequence
from mainstem.log.errors import InvalidProducerEpoch as InvalidProducerEpoch
from mainstem.log.errors import InvalidRecord as InvalidRecord
from mainstem.log.errors import InvalidTimestamp as InvalidTimestamp
from mainstem.log.errors import InvalidTransactionState as InvalidTransactionState
from mainstem.log.errors import OffsetOutOfRange as OffsetOutOfRange
from mainstem.log.errors import OutOfOrderSequence as OutOfOrderSequence
from mainstem.log.errors import TransactionalIdRequired as TransactionalIdRequired
from mainstem.log.errors import TransactionCoordinatorFenced as TransactionCoordinatorFenced
from mainstem.log.errors import UnknownProducer as UnknownProducer
from mainstem.log.errors import UnsupportedBatchFormat as UnsupportedBatchFormat
from mainstem.log.errors import UnsupportedCompression as UnsupportedCompression
from mainstem.model.errors import BrokerError, DiskError, PeerError

# --- the request names something that is not there, or is already


class UnknownTopicOrPartition(PeerError):
    pass


class UnknownTopicId(PeerError):
    pass


class InconsistentTopicId(PeerError):
    pass


class TopicAlreadyExists(PeerError):
    pass


class TopicDeletionDisabled(PeerError):
    pass


class InvalidTopicName(PeerError):
    pass


class InvalidPartitionCount(PeerError):
    pass


class InvalidReplicationFactor(PeerError):
    pass


class InvalidReplicaAssignment(PeerError):
    pass


class InvalidConfig(PeerError):
    pass


class InvalidRequest(PeerError):
    pass


class PolicyViolation(PeerError):
    pass


class UnknownBrokerId(PeerError):
    """The request names a node that is not registered."""


class NoReassignmentInProgress(PeerError):
    pass


class ElectionNotNeeded(PeerError):
    pass


class TopicAuthorizationFailed(PeerError):
    """Who asks may not do that with the topic; nothing is said about whether it exists."""


class SecurityDisabled(PeerError):
    """The broker keeps no access rules."""


# --- the client's view of the cluster is old


class NotLeaderOrFollower(BrokerError):
    pass


class FencedLeaderEpoch(PeerError):
    pass


class UnknownLeaderEpoch(BrokerError):
    pass


class LeaderNotAvailable(BrokerError):
    pass


class PreferredLeaderNotAvailable(LeaderNotAvailable):
    """The replica that a partition should be led by is not alive, or not in sync."""


class EligibleLeadersNotAvailable(LeaderNotAvailable):
    """No replica of a partition could lead it."""


class ReplicaNotAvailable(BrokerError):
    pass


class BrokerNotAvailable(BrokerError):
    pass


class NotController(BrokerError):
    """Another node makes the changes of metadata now."""


class MetadataNotAvailable(BrokerError):
    """The metadata store did not take the change; whether it will be seen later is open."""


class OffsetNotAvailable(BrokerError):
    pass


class NotEnoughReplicas(BrokerError):
    pass


class RequestTimedOut(BrokerError):
    pass


class RecordsDamaged(DiskError):
    """What is stored at this place cannot be read, and asking again will not help; the rest can be."""


class StorageFailed(DiskError):
    """The directory of the partition failed or is full."""


# --- quotas


class UnsupportedQuotaEntity(PeerError):
    """Quotas of a kind of entity that does not exist here."""


class ThrottlingQuotaExceeded(PeerError):
    """The client used up what it may change for now; it may ask again after `throttle_ms`."""

    def __init__(self, throttle_ms: int) -> None:
        super().__init__(f"the quota of changes is used up: try again in {throttle_ms} ms")
        self.throttle_ms = throttle_ms


# --- groups


class InvalidGroupId(PeerError):
    pass


class GroupIdNotFound(PeerError):
    pass


class NonEmptyGroup(PeerError):
    pass


class GroupSubscribedToTopic(PeerError):
    pass


class GroupMaxSizeReached(PeerError):
    pass


class UnknownMemberId(PeerError):
    pass


class MemberIdRequired(PeerError):
    """The member must join again under the id that the answer carries."""

    def __init__(self, member_id: str) -> None:
        super().__init__(f"join again as {member_id}")
        self.member_id = member_id


class FencedInstanceId(PeerError):
    pass


class IllegalGeneration(PeerError):
    pass


class InconsistentGroupProtocol(PeerError):
    pass


class InvalidSessionTimeout(PeerError):
    pass


class OffsetMetadataTooLarge(PeerError):
    pass


class InvalidCommitOffsetSize(PeerError):
    pass


class RebalanceInProgress(PeerError):
    pass


class CoordinatorNotAvailable(BrokerError):
    pass


class CoordinatorLoadInProgress(BrokerError):
    pass


class NotCoordinator(BrokerError):
    pass


# --- transactions


class ProducerFenced(PeerError):
    """A newer producer has taken the transactional id over."""


class InvalidProducerIdMapping(PeerError):
    """The producer id is not the one that the transactional id has."""


class InvalidTransactionTimeout(PeerError):
    pass


class TransactionalIdNotFound(PeerError):
    pass


class ConcurrentTransactions(BrokerError):
    """The transaction before is still being ended: soon it will not be."""


class TransactionAbortable(PeerError):
    """This transaction cannot be committed any more; after an abort the producer may go on."""


class UnstableOffsetCommit(BrokerError):
    """An open transaction holds a newer offset: its end decides what is committed."""


class OperationNotAttempted(PeerError):
    """Nothing is wrong with this part of the request; another part was refused."""


class InvalidRegularExpression(PeerError):
    pass
