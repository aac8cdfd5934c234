"""The operations that a client may carry out on a resource, as the bit field of Kafka's answers.

The code of an operation is the number of its bit. Where access rules are not kept to, whoever is connected
may do whatever a resource of that type knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mainstem.core.identity.acl import CLUSTER_NAME, OPERATIONS_OF, Operation, ResourceType
from mainstem.heads.kafka.context import RequestContext

OPERATIONS_NOT_ASKED_FOR: Final = -(2**31)
NO_OPERATIONS: Final = 0


def _bits(operations: Iterable[Operation]) -> int:
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS: Final = _bits(OPERATIONS_OF[ResourceType.TOPIC])
GROUP_OPERATIONS: Final = _bits(OPERATIONS_OF[ResourceType.GROUP])
CLUSTER_OPERATIONS: Final = _bits(OPERATIONS_OF[ResourceType.CLUSTER])
_ALL: Final[Mapping[ResourceType, int]] = {
    ResourceType.TOPIC: TOPIC_OPERATIONS,
    ResourceType.GROUP: GROUP_OPERATIONS,
    ResourceType.CLUSTER: CLUSTER_OPERATIONS,
}


def topic_operations(context: RequestContext, name: str) -> int:
    return _operations(context, ResourceType.TOPIC, name)


def group_operations(context: RequestContext, group_id: str) -> int:
    return _operations(context, ResourceType.GROUP, group_id)


def cluster_operations(context: RequestContext) -> int:
    """None are told to who may not describe the cluster."""
    if not context.may_on_cluster(Operation.DESCRIBE, is_quiet=True):
        return NO_OPERATIONS
    return _operations(context, ResourceType.CLUSTER, CLUSTER_NAME)


def _operations(context: RequestContext, resource_type: ResourceType, name: str) -> int:
    authorizer = context.broker.authorizer
    if authorizer is None:
        return _ALL[resource_type]
    return _bits(authorizer.allowed_operations(context.principal, context.client_host, resource_type, name))
