"""The error codes in a broker's answers: their names in Kafka, and what they mean to who asked.

Only codes that a client of this package can meet have a text; any other is shown by its number.
`_PASSING` are those after which the same request, perhaps to another broker, may succeed.
"""

from __future__ import annotations

from typing import Final

OFFSET_OUT_OF_RANGE: Final = 1
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
LEADER_NOT_AVAILABLE: Final = 5
NOT_LEADER_OR_FOLLOWER: Final = 6
COORDINATOR_LOAD_IN_PROGRESS: Final = 14
COORDINATOR_NOT_AVAILABLE: Final = 15
NOT_COORDINATOR: Final = 16
UNSUPPORTED_VERSION: Final = 35
TOPIC_ALREADY_EXISTS: Final = 36
NOT_CONTROLLER: Final = 41
OUT_OF_ORDER_SEQUENCE_NUMBER: Final = 45
DUPLICATE_SEQUENCE_NUMBER: Final = 46
INVALID_TXN_STATE: Final = 48
UNKNOWN_PRODUCER_ID: Final = 59
GROUP_ID_NOT_FOUND: Final = 69
TRANSACTIONAL_ID_NOT_FOUND: Final = 105
TRANSACTION_ABORTABLE: Final = 120

# The batch was refused because of records in it; without these it would be taken.
BAD_RECORD_CODES: Final = frozenset({10, 18, 32, 87})

_TEXTS: Final[dict[int, tuple[str, str]]] = {
    -1: ("UNKNOWN_SERVER_ERROR", "the broker failed; its log says why"),
    1: ("OFFSET_OUT_OF_RANGE", "the partition holds no such offset, or no longer"),
    2: ("CORRUPT_MESSAGE", "the batch arrived damaged"),
    3: ("UNKNOWN_TOPIC_OR_PARTITION", "there is no such topic or partition"),
    5: ("LEADER_NOT_AVAILABLE", "the partition has no leader at the moment"),
    6: ("NOT_LEADER_OR_FOLLOWER", "another broker leads the partition now"),
    7: ("REQUEST_TIMED_OUT", "the broker did not finish in time"),
    8: ("BROKER_NOT_AVAILABLE", "the broker is not available"),
    9: ("REPLICA_NOT_AVAILABLE", "the replica is not available"),
    10: ("MESSAGE_TOO_LARGE", "a batch is larger than the topic's max.message.bytes"),
    13: ("NETWORK_EXCEPTION", "the broker left before it answered"),
    14: ("COORDINATOR_LOAD_IN_PROGRESS", "the group's coordinator is still loading its state"),
    15: ("COORDINATOR_NOT_AVAILABLE", "the group has no coordinator at the moment"),
    16: ("NOT_COORDINATOR", "another broker coordinates the group now"),
    17: ("INVALID_TOPIC_EXCEPTION", "a topic cannot have this name"),
    18: ("RECORD_LIST_TOO_LARGE", "the batch is larger than a segment"),
    19: ("NOT_ENOUGH_REPLICAS", "fewer replicas are in sync than min.insync.replicas asks for"),
    20: ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "written, but fewer replicas are in sync than asked for"),
    21: ("INVALID_REQUIRED_ACKS", "acks can be 0, 1 or all"),
    22: ("ILLEGAL_GENERATION", "the group has moved on; it is in use by its members"),
    24: ("INVALID_GROUP_ID", "a group cannot have this name"),
    25: ("UNKNOWN_MEMBER_ID", "the group has members: stop them first"),
    27: ("REBALANCE_IN_PROGRESS", "the group is dividing its partitions right now"),
    28: ("INVALID_COMMIT_OFFSET_SIZE", "the offset with its metadata is too large"),
    29: ("TOPIC_AUTHORIZATION_FAILED", "no permission for this topic"),
    30: ("GROUP_AUTHORIZATION_FAILED", "no permission for this group"),
    31: ("CLUSTER_AUTHORIZATION_FAILED", "no permission for this on the cluster"),
    32: ("INVALID_TIMESTAMP", "a timestamp is outside what the topic allows"),
    35: ("UNSUPPORTED_VERSION", "the broker does not serve this version of the request"),
    36: ("TOPIC_ALREADY_EXISTS", "there is already a topic of this name"),
    37: ("INVALID_PARTITIONS", "the number of partitions is not possible"),
    38: ("INVALID_REPLICATION_FACTOR", "there are not as many brokers as replicas asked for"),
    39: ("INVALID_REPLICA_ASSIGNMENT", "the assignment of replicas is not possible"),
    40: ("INVALID_CONFIG", "an option or its value is not possible"),
    41: ("NOT_CONTROLLER", "another broker is the controller now"),
    42: ("INVALID_REQUEST", "the broker refuses the request as it stands"),
    43: ("UNSUPPORTED_FOR_MESSAGE_FORMAT", "the topic's record format cannot do this"),
    44: ("POLICY_VIOLATION", "a policy of the cluster forbids it"),
    45: ("OUT_OF_ORDER_SEQUENCE_NUMBER", "a batch before this one is missing"),
    46: ("DUPLICATE_SEQUENCE_NUMBER", "the batch was written before"),
    47: ("INVALID_PRODUCER_EPOCH", "a newer producer has taken over"),
    48: ("INVALID_TXN_STATE", "the transaction is in a state in which this cannot be"),
    49: ("INVALID_PRODUCER_ID_MAPPING", "the transactional id has another producer now, or expired"),
    50: ("INVALID_TRANSACTION_TIMEOUT", "the time-out is above the broker's transaction.max.timeout.ms"),
    51: ("CONCURRENT_TRANSACTIONS", "the transaction before is still being ended, or waits for a decision"),
    53: ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "no permission for this transactional id"),
    54: ("SECURITY_DISABLED", "the broker keeps no access rules; see authorizer.class.name"),
    56: ("KAFKA_STORAGE_ERROR", "the broker's disk refused: full, or failed"),
    58: ("SASL_AUTHENTICATION_FAILED", "the user or the password is wrong"),
    59: ("UNKNOWN_PRODUCER_ID", "the broker no longer knows the producer"),
    60: ("REASSIGNMENT_IN_PROGRESS", "the partition is moving"),
    68: ("NON_EMPTY_GROUP", "the group has members: stop them first"),
    69: ("GROUP_ID_NOT_FOUND", "there is no such group"),
    73: ("TOPIC_DELETION_DISABLED", "the broker's delete.topic.enable is false"),
    74: ("FENCED_LEADER_EPOCH", "our view of the leaders is old"),
    75: ("UNKNOWN_LEADER_EPOCH", "the broker's view of the leaders is old"),
    76: ("UNSUPPORTED_COMPRESSION_TYPE", "the broker does not know this compression"),
    78: ("OFFSET_NOT_AVAILABLE", "the leader does not know its offsets yet"),
    86: ("GROUP_SUBSCRIBED_TO_TOPIC", "the group reads this topic: stop its members first"),
    87: ("INVALID_RECORD", "the topic does not take such a record (a compacted topic needs keys)"),
    88: ("UNSTABLE_OFFSET_COMMIT", "a transaction that commits offsets is still open"),
    89: ("THROTTLING_QUOTA_EXCEEDED", "a quota is used up for the moment"),
    90: ("PRODUCER_FENCED", "another producer has taken the transactional id over"),
    91: ("RESOURCE_NOT_FOUND", "there is no such thing"),
    93: ("UNACCEPTABLE_CREDENTIAL", "nobody should be able to log in with this"),
    100: ("UNKNOWN_TOPIC_ID", "there is no topic of this id"),
    103: ("INCONSISTENT_TOPIC_ID", "the topic was deleted and made again"),
    105: ("TRANSACTIONAL_ID_NOT_FOUND", "there is no such transactional id"),
    120: ("TRANSACTION_ABORTABLE", "the transaction must be aborted"),
    128: ("INVALID_REGULAR_EXPRESSION", "the pattern is no regular expression"),
}

_PASSING: Final = frozenset({2, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 27, 41, 51, 56, 74, 75, 78, 88, 89})


def answer_name(code: int) -> str:
    known = _TEXTS.get(code)
    return known[0] if known else f"error {code}"


def answer_text(code: int) -> str:
    known = _TEXTS.get(code)
    return known[1] if known else "the broker refused"


def is_passing(code: int) -> bool:
    return code in _PASSING
