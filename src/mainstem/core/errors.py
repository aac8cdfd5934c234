"""The errors of the core, by who has to act. Heads map them to wire codes, one table a head."""

from __future__ import annotations

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


class NoReassignmentInProgress(PeerError):
    pass


class ElectionNotNeeded(PeerError):
    pass


# --- the client's view of the cluster is old


class NotLeaderOrFollower(BrokerError):
    pass


class FencedLeaderEpoch(PeerError):
    pass


class UnknownLeaderEpoch(BrokerError):
    pass


class LeaderNotAvailable(BrokerError):
    pass


class ReplicaNotAvailable(BrokerError):
    pass


class BrokerNotAvailable(BrokerError):
    pass


class OffsetNotAvailable(BrokerError):
    pass


class NotEnoughReplicas(BrokerError):
    pass


class RequestTimedOut(BrokerError):
    pass


class StorageFailed(DiskError):
    """The directory of the partition failed or is full."""


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
