"""Access rules in Kafka's words, and under Kafka's numbers.

A rule says: this principal, from this host, may (or may not) carry out this operation on the resources of
this pattern. A pattern is a type and a name, taken literally or as the beginning of names; a literal `*`
stands for every name. `User:*` stands for everybody, and the host `*` for every address.

The values `ANY` and `MATCH` are for questions (see `acl_filter.py`): no rule has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple


class ResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2  # a question: every pattern that covers the name
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


WILDCARD: Final = "*"
EVERYBODY: Final = "User:*"
CLUSTER_NAME: Final = "kafka-cluster"  # the one resource of the type CLUSTER

_DESCRIBING: Final = frozenset(
    (Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER)
)
_DESCRIBING_CONFIGS: Final = frozenset((Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS))

# What is asked -> the operations whose permission gives it; what is not named is given by itself alone.
# Only permissions imply something: whoever may not write may still describe.
GIVEN_BY: Final[Mapping[int, frozenset[Operation]]] = {
    Operation.DESCRIBE: _DESCRIBING,
    Operation.DESCRIBE_CONFIGS: _DESCRIBING_CONFIGS,
}

OPERATIONS_OF: Final[Mapping[ResourceType, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE, Operation.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}


class ResourcePattern(NamedTuple):
    type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        return f"{self.type.name}:{self.pattern_type.name}:{self.name}"


class AccessRule(NamedTuple):
    """What one line says of a pattern."""

    principal: str  # "User:alice"
    host: str
    operation: Operation
    permission: Permission


class AclBinding(NamedTuple):
    """A rule and what it is about."""

    pattern: ResourcePattern
    rule: AccessRule


AccessRules = Mapping[ResourcePattern, tuple[AccessRule, ...]]  # no pattern without a rule, no rule twice
