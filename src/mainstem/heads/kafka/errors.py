"""Errors of the broker as the codes that Kafka clients know: the one table of this head."""

from __future__ import annotations

from mainstem.core import errors as core
from mainstem.core.identity import errors as identity
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.model.errors import BrokerError, DiskError, MainstemError, PeerError

_CODES: dict[type[BaseException], ErrorCode] = {
    # the log
    core.OffsetOutOfRange: ErrorCode.OFFSET_OUT_OF_RANGE,
    core.CorruptBatch: ErrorCode.CORRUPT_MESSAGE,
    core.InvalidRecord: ErrorCode.INVALID_RECORD,
    core.InvalidTimestamp: ErrorCode.INVALID_TIMESTAMP,
    core.BatchTooLarge: ErrorCode.MESSAGE_TOO_LARGE,
    core.UnsupportedBatchFormat: ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    core.UnsupportedCompression: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    core.OutOfOrderSequence: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    core.DuplicateSequence: ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    core.InvalidProducerEpoch: ErrorCode.INVALID_PRODUCER_EPOCH,
    core.UnknownProducer: ErrorCode.UNKNOWN_PRODUCER_ID,
    # topics
    core.UnknownTopicOrPartition: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    core.UnknownTopicId: ErrorCode.UNKNOWN_TOPIC_ID,
    core.InconsistentTopicId: ErrorCode.INCONSISTENT_TOPIC_ID,
    core.TopicAlreadyExists: ErrorCode.TOPIC_ALREADY_EXISTS,
    core.TopicDeletionDisabled: ErrorCode.TOPIC_DELETION_DISABLED,
    core.InvalidTopicName: ErrorCode.INVALID_TOPIC_EXCEPTION,
    core.InvalidPartitionCount: ErrorCode.INVALID_PARTITIONS,
    core.InvalidReplicationFactor: ErrorCode.INVALID_REPLICATION_FACTOR,
    core.InvalidReplicaAssignment: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    core.InvalidConfig: ErrorCode.INVALID_CONFIG,
    core.InvalidRequest: ErrorCode.INVALID_REQUEST,
    core.PolicyViolation: ErrorCode.POLICY_VIOLATION,
    core.NoReassignmentInProgress: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    core.ElectionNotNeeded: ErrorCode.ELECTION_NOT_NEEDED,
    core.TopicAuthorizationFailed: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    core.SecurityDisabled: ErrorCode.SECURITY_DISABLED,
    # leadership and storage
    core.NotLeaderOrFollower: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    core.FencedLeaderEpoch: ErrorCode.FENCED_LEADER_EPOCH,
    core.UnknownLeaderEpoch: ErrorCode.UNKNOWN_LEADER_EPOCH,
    core.LeaderNotAvailable: ErrorCode.LEADER_NOT_AVAILABLE,
    core.PreferredLeaderNotAvailable: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    core.EligibleLeadersNotAvailable: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    core.ReplicaNotAvailable: ErrorCode.REPLICA_NOT_AVAILABLE,
    core.BrokerNotAvailable: ErrorCode.BROKER_NOT_AVAILABLE,
    core.NotController: ErrorCode.NOT_CONTROLLER,
    core.MetadataNotAvailable: ErrorCode.REQUEST_TIMED_OUT,  # clients see whether it was done, or ask again
    core.OffsetNotAvailable: ErrorCode.OFFSET_NOT_AVAILABLE,
    core.NotEnoughReplicas: ErrorCode.NOT_ENOUGH_REPLICAS,
    core.RequestTimedOut: ErrorCode.REQUEST_TIMED_OUT,
    core.StorageFailed: ErrorCode.KAFKA_STORAGE_ERROR,
    core.RecordsDamaged: ErrorCode.CORRUPT_MESSAGE,
    # quotas
    core.UnsupportedQuotaEntity: ErrorCode.UNSUPPORTED_VERSION,
    core.ThrottlingQuotaExceeded: ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    # groups
    core.InvalidGroupId: ErrorCode.INVALID_GROUP_ID,
    core.GroupIdNotFound: ErrorCode.GROUP_ID_NOT_FOUND,
    core.NonEmptyGroup: ErrorCode.NON_EMPTY_GROUP,
    core.GroupSubscribedToTopic: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    core.GroupMaxSizeReached: ErrorCode.GROUP_MAX_SIZE_REACHED,
    core.UnknownMemberId: ErrorCode.UNKNOWN_MEMBER_ID,
    core.MemberIdRequired: ErrorCode.MEMBER_ID_REQUIRED,
    core.FencedInstanceId: ErrorCode.FENCED_INSTANCE_ID,
    core.IllegalGeneration: ErrorCode.ILLEGAL_GENERATION,
    core.InconsistentGroupProtocol: ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    core.InvalidSessionTimeout: ErrorCode.INVALID_SESSION_TIMEOUT,
    core.OffsetMetadataTooLarge: ErrorCode.OFFSET_METADATA_TOO_LARGE,
    core.InvalidCommitOffsetSize: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    core.RebalanceInProgress: ErrorCode.REBALANCE_IN_PROGRESS,
    core.CoordinatorNotAvailable: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    core.CoordinatorLoadInProgress: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    core.NotCoordinator: ErrorCode.NOT_COORDINATOR,
    # transactions
    core.TransactionalIdRequired: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,  # as Kafka says it
    core.InvalidTransactionState: ErrorCode.INVALID_TXN_STATE,
    core.TransactionCoordinatorFenced: ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    core.ProducerFenced: ErrorCode.PRODUCER_FENCED,
    core.InvalidProducerIdMapping: ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    core.InvalidTransactionTimeout: ErrorCode.INVALID_TRANSACTION_TIMEOUT,
    core.TransactionalIdNotFound: ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    core.ConcurrentTransactions: ErrorCode.CONCURRENT_TRANSACTIONS,
    core.TransactionAbortable: ErrorCode.TRANSACTION_ABORTABLE,
    core.UnstableOffsetCommit: ErrorCode.UNSTABLE_OFFSET_COMMIT,
    core.OperationNotAttempted: ErrorCode.OPERATION_NOT_ATTEMPTED,
    core.InvalidRegularExpression: ErrorCode.INVALID_REGULAR_EXPRESSION,
    # identity
    identity.UnknownUser: ErrorCode.RESOURCE_NOT_FOUND,
    identity.DuplicateUser: ErrorCode.DUPLICATE_RESOURCE,
    identity.UnacceptableCredential: ErrorCode.UNACCEPTABLE_CREDENTIAL,
    identity.UnknownMechanism: ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    identity.LoginFailed: ErrorCode.SASL_AUTHENTICATION_FAILED,
    # what has no line of its own
    PeerError: ErrorCode.INVALID_REQUEST,
    DiskError: ErrorCode.KAFKA_STORAGE_ERROR,
    BrokerError: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def error_code(error: BaseException) -> ErrorCode:
    """The code of an error by its class, or else by the nearest class above it."""
    code = _CODES.get(type(error))
    if code is not None:
        return code
    for above in type(error).__mro__:
        code = _CODES.get(above)
        if code is not None:
            return code
    return ErrorCode.UNKNOWN_SERVER_ERROR


def error_message(error: BaseException) -> str:
    """What a client may read. Of an error that nobody meant to raise it learns nothing."""
    if isinstance(error, MainstemError):
        return str(error) or type(error).__name__
    return "The broker failed to serve the request; its log says why."
