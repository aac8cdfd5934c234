"""Checks of the APIs about producers and transactions that are like no other."""

from __future__ import annotations

from typing import Any, Final

from mainstem.core.identity.acl import Operation, ResourceType
from mainstem.core.transactions.writers import writer_key
from mainstem.heads.kafka.authorization.check import (
    DENIED,
    Asked,
    Need,
    named,
    on_cluster,
    on_topic,
    on_transactional_id,
    refusal,
    refused_whole,
    split,
    whole,
)
from mainstem.heads.kafka.authorization.check import each as each_of
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.extensions.describe_transaction_writers import (
    DescribeTransactionWritersRequest,
    DescribeTransactionWritersResponse,
)
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from mainstem.wire.kafka.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from mainstem.wire.kafka.messages.init_producer_id import InitProducerIdRequest
from mainstem.wire.kafka.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from mainstem.wire.kafka.messages.write_txn_markers import WriteTxnMarkersRequest

_FIRST_BETWEEN_BROKERS: Final = 4  # of AddPartitionsToTxn


async def init_producer_id(
    context: RequestContext, request: InitProducerIdRequest, handler: Handler
) -> Message:
    """Write on the transactional id; for an idempotent producer it is enough to write to some topic."""
    if request.transactional_id is not None:
        return await whole(on_transactional_id(Operation.WRITE))(context, request, handler)
    authorizer = context.broker.authorizer
    if authorizer is not None and not context.may_on_cluster(Operation.IDEMPOTENT_WRITE, is_quiet=True):
        may_write_somewhere = authorizer.allows_for_any(
            context.principal, context.client_host, Operation.WRITE, ResourceType.TOPIC
        )
        if not may_write_somewhere:
            return await whole(on_cluster(Operation.IDEMPOTENT_WRITE))(context, request, handler)
    return await handler.handle(context, request)


async def add_partitions_to_txn(
    context: RequestContext, request: AddPartitionsToTxnRequest, handler: Handler
) -> Message:
    """From clients: Write on the transactional id and on the topics, all or none. Else from brokers."""
    if context.version >= _FIRST_BETWEEN_BROKERS:
        return await whole(on_cluster(Operation.CLUSTER_ACTION))(context, request, handler)
    needs = [on_transactional_id(Operation.WRITE, "v3_and_below_transactional_id")]
    refused = refused_whole(context, request, handler, needs)
    if refused is not None:
        return refused
    topics = request.v3_and_below_topics
    _, denied = split(context, topics, on_topic(Operation.WRITE))
    if not denied:
        return await handler.handle(context, request)
    denied_names = {topic.name for part in denied.values() for topic in part}
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=index,
                        partition_error_code=(
                            ErrorCode.TOPIC_AUTHORIZATION_FAILED
                            if topic.name in denied_names
                            else ErrorCode.OPERATION_NOT_ATTEMPTED
                        ),
                    )
                    for index in topic.partitions
                ],
            )
            for topic in topics
        ]
    )


async def write_txn_markers(
    context: RequestContext, request: WriteTxnMarkersRequest, handler: Handler
) -> Message:
    """For other nodes, or for whoever ends a hanging transaction."""
    if context.may_on_cluster(Operation.ALTER, is_quiet=True) or context.may_on_cluster(
        Operation.CLUSTER_ACTION
    ):
        return await handler.handle(context, request)
    return refusal(handler, context.version, request, *DENIED[ResourceType.CLUSTER])


async def describe_transactions(
    context: RequestContext, request: DescribeTransactionsRequest, handler: Handler
) -> Message:
    """Describe on each transactional id; of its partitions those of topics that one may describe."""
    need = named(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)
    response = await each_of("transactional_ids", need, "transaction_states")(context, request, handler)
    assert isinstance(response, DescribeTransactionsResponse)
    for state in response.transaction_states:
        state.topics = [
            topic
            for topic in state.topics
            if context.may(Operation.DESCRIBE, ResourceType.TOPIC, topic.topic, is_quiet=True)
        ]
    return response


async def list_transactions(
    context: RequestContext, request: ListTransactionsRequest, handler: Handler
) -> Message:
    """Those whose transactional id one may describe."""
    response = await handler.handle(context, request)
    assert isinstance(response, ListTransactionsResponse)
    kind = ResourceType.TRANSACTIONAL_ID
    response.transaction_states = [
        state
        for state in response.transaction_states
        if context.may(Operation.DESCRIBE, kind, state.transactional_id, is_quiet=True)
    ]
    return response


def on_writer(operation: Operation) -> Need:
    """On the id that stands for all of the writer's."""

    def need(_: RequestContext, request: Any) -> Asked:
        return Asked(operation, ResourceType.TRANSACTIONAL_ID, writer_key(request.writer))

    return need


async def describe_transaction_writers(
    context: RequestContext, request: DescribeTransactionWritersRequest, handler: Handler
) -> Message:
    if request.writers is not None:

        def need(_: RequestContext, writer: str) -> Asked:
            return Asked(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, writer_key(writer))

        return await each_of("writers", need, "writers")(context, request, handler)
    response = await handler.handle(context, request)
    assert isinstance(response, DescribeTransactionWritersResponse)
    kind = ResourceType.TRANSACTIONAL_ID
    response.writers = [
        each
        for each in response.writers
        if context.may(Operation.DESCRIBE, kind, writer_key(each.writer), is_quiet=True)
    ]
    return response


async def offset_for_leader_epoch(context: RequestContext, request: Any, handler: Handler) -> Message:
    """Followers act for the cluster, consumers describe their topics."""
    if context.may_on_cluster(Operation.CLUSTER_ACTION, is_quiet=True):
        return await handler.handle(context, request)
    return await each_of("topics", on_topic(Operation.DESCRIBE, "topic"), "topics")(context, request, handler)
