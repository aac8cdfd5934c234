"""ListTransactions: the transactional ids that this node coordinates, by state, producer, age and name."""

from __future__ import annotations

from typing import Final

from mainstem.core.transactions.listing import TransactionFilter
from mainstem.core.transactions.states import state_by_name, state_name
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)


async def handle(context: RequestContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    named = {name: state_by_name(name) for name in request.state_filters}
    states = [state for state in named.values() if state is not None]
    unknown = [name for name, state in named.items() if state is None]
    if unknown and not states:  # only states that do not exist: nothing is in them
        return ListTransactionsResponse(unknown_state_filters=unknown)
    found = context.broker.transactions.list_transactions(
        TransactionFilter(
            states, request.producer_id_filters, request.duration_filter, request.transactional_id_pattern
        )
    )
    return ListTransactionsResponse(
        unknown_state_filters=unknown,
        transaction_states=[
            TransactionState(
                transactional_id=transactional_id,
                producer_id=stored.producer_id,
                transaction_state=state_name(stored.state),
            )
            for transactional_id, stored in found
        ],
    )


HANDLER: Final = Handler(
    key=66,
    min_version=0,
    max_version=2,
    handle=handle,
    remarks="A pattern is a regular expression of Python's, not of RE2.",
)
