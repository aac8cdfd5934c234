"""/v1/quotas: limits of users, client ids and addresses, and how much of them is used."""

from __future__ import annotations

from typing import Final

import msgspec

from mainstem.admin.errors import BAD_REQUEST, UNAVAILABLE
from mainstem.admin.node import Node
from mainstem.admin.operations import OK, Answer, Call, Operation
from mainstem.core.ports import QuotaChange
from mainstem.core.quotas.clients import AccountReport
from mainstem.core.quotas.entity import QuotaEntity, checked_entity

_MOST_USES: Final = 1_000  # those used last


class QuotaState(msgspec.Struct, frozen=True):
    entity: dict[str, str | None]  # user, client-id or ip; null: everybody without one of their own
    limits: dict[str, float]


class QuotaUse(msgspec.Struct, frozen=True):
    limit_name: str
    user: str | None  # null: whoever
    client_id: str | None
    ip: str | None
    limit: float
    rate: float  # per second, now; of controller_mutation_rate what is left to use
    throttled_count: int  # since the start of this node, as is the next
    throttled_ms: int


class QuotaList(msgspec.Struct, frozen=True):
    quotas: list[QuotaState]
    in_use: list[QuotaUse]  # by who takes something, on this node


class QuotaChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entity: dict[str, str | None]
    limits: dict[str, float | None]  # null takes a limit back


async def list_quotas(call: Call) -> Answer:
    node = call.node
    states = [QuotaState(entity.names, dict(limits)) for entity, limits in node.broker.image.quotas.items()]
    return Answer(QuotaList(states, [_use(report) for report in reports(node)]))


def reports(node: Node) -> list[AccountReport]:
    """Of this node's accounts, so many as a page may hold."""
    return [
        *node.broker.quotas.reports(_MOST_USES),
        *node.connection_quotas.reports(_MOST_USES),
    ]


def _use(report: AccountReport) -> QuotaUse:
    account = report.account
    return QuotaUse(
        limit_name=report.limit_name,
        user=account.user,
        client_id=account.client_id,
        ip=account.ip,
        limit=report.limit,
        rate=report.rate,
        throttled_count=report.throttled_count,
        throttled_ms=report.throttled_ms,
    )


async def change_quotas(call: Call) -> Answer:
    wanted: QuotaChanges = call.body
    entity: QuotaEntity = checked_entity(wanted.entity.items())
    changes = [QuotaChange(name, value) for name, value in wanted.limits.items()]
    error = (await call.node.broker.admin.alter_quotas({entity: changes}))[entity]
    if error is not None:
        raise error
    return Answer(QuotaState(entity.names, dict(call.node.broker.image.quotas.get(entity, {}))))


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/quotas",
        "List quotas, and what is used of them",
        list_quotas,
        {OK: QuotaList},
        tag="quotas",
    ),
    Operation(
        "PATCH",
        "/v1/quotas",
        "Set or take back limits of one user, client id or address, all or none",
        change_quotas,
        {OK: QuotaState},
        body=QuotaChanges,
        errors=(BAD_REQUEST, UNAVAILABLE),
        tag="quotas",
    ),
)
