"""/v1/transactions: transactional ids, what is open under them, and aborting it."""

from __future__ import annotations

from typing import Final

import msgspec

from mainstem.admin.errors import BAD_REQUEST, CONFLICT, NOT_FOUND, UNAVAILABLE
from mainstem.admin.operations import NO_CONTENT, OK, Answer, Call, Operation, Parameter
from mainstem.core.errors import InvalidRequest
from mainstem.core.transactions.listing import TransactionFilter
from mainstem.core.transactions.states import state_by_name, state_name
from mainstem.core.transactions.transaction import StoredTransaction

_LIMIT: Final = Parameter("limit", "How many to list, 1 to 10000.", minimum=1, maximum=10_000, default="1000")
_AFTER: Final = Parameter("after", "List those whose ids come after this one.")
_STATE: Final = Parameter("state", "Only those in this state: Ongoing, PrepareCommit, Empty, ...")
_ID: Final = Parameter("transactional_id", "The transactional id.", place="path")


class TransactionSummary(msgspec.Struct, frozen=True):
    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    start_time_ms: int | None  # None: nothing is open
    prepared_number: int | None  # of the decision that it waits for


class TransactionList(msgspec.Struct, frozen=True):
    transactions: list[TransactionSummary]
    total_count: int
    next_after: str | None  # there are more: ask with `after`


class OpenPartition(msgspec.Struct, frozen=True):
    topic: str
    partition: int


class TransactionDetail(msgspec.Struct, frozen=True):
    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    last_update_time_ms: int
    start_time_ms: int | None
    prepared_number: int | None
    prepared_since_ms: int | None
    partitions: list[OpenPartition]


def _start_ms(stored: StoredTransaction) -> int | None:
    return stored.start_ms if stored.partitions and stored.start_ms >= 0 else None


def _number(stored: StoredTransaction) -> int | None:
    return stored.prepared.number if stored.is_prepared and stored.prepared is not None else None


async def list_transactions(call: Call) -> Answer:
    limit, after = call.number(_LIMIT), call.query.get("after", "")
    named = call.query.get("state")
    state = None if named is None else state_by_name(named)
    if named is not None and state is None:
        raise InvalidRequest(f"there is no state {named!r}")
    wanted = TransactionFilter(states=() if state is None else (state,))
    found = sorted(call.node.broker.transactions.list_transactions(wanted), key=lambda each: each[0])
    following = [each for each in found if each.transactional_id > after]
    listed = [
        TransactionSummary(
            transactional_id,
            state_name(stored.state),
            stored.producer_id,
            stored.producer_epoch,
            _start_ms(stored),
            _number(stored),
        )
        for transactional_id, stored in following[:limit]
    ]
    next_after = listed[-1].transactional_id if len(following) > limit else None
    return Answer(TransactionList(listed, len(found), next_after))


async def describe_transaction(call: Call) -> Answer:
    transactional_id = call.path["transactional_id"]
    stored = call.node.broker.transactions.describe(transactional_id)
    return Answer(
        TransactionDetail(
            transactional_id,
            state_name(stored.state),
            stored.producer_id,
            stored.producer_epoch,
            stored.timeout_ms,
            stored.update_ms,
            _start_ms(stored),
            _number(stored),
            stored.prepared.since_ms if stored.is_prepared and stored.prepared is not None else None,
            [OpenPartition(*each) for each in sorted(stored.partitions)],
        )
    )


async def abort_transaction(call: Call) -> Answer:
    await call.node.broker.transactions.abort(call.path["transactional_id"])
    return Answer(None, NO_CONTENT)


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/transactions",
        "List the transactional ids that this node coordinates",
        list_transactions,
        {OK: TransactionList},
        parameters=(_LIMIT, _AFTER, _STATE),
        errors=(BAD_REQUEST, UNAVAILABLE),
        tag="transactions",
    ),
    Operation(
        "GET",
        "/v1/transactions/{transactional_id:path}",
        "Describe a transactional id and its open transaction",
        describe_transaction,
        {OK: TransactionDetail},
        parameters=(_ID,),
        errors=(NOT_FOUND, UNAVAILABLE),
        tag="transactions",
    ),
    Operation(
        "DELETE",
        "/v1/transactions/{transactional_id:path}",
        "Abort the open transaction of an id; its producer is refused from then on",
        abort_transaction,
        {NO_CONTENT: None},
        parameters=(_ID,),
        errors=(NOT_FOUND, CONFLICT, UNAVAILABLE),
        tag="transactions",
    ),
)
