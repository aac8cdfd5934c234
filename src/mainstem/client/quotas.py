"""Quotas: what there are, and changes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import check
from mainstem.wire.kafka.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    OpData,
)
from mainstem.wire.kafka.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

EntityNames = Mapping[str, str | None]  # by type: user, client-id, ip; None is the default

_EXACT, _DEFAULT = 0, 1


class QuotaView(NamedTuple):
    entity: dict[str, str | None]
    limits: dict[str, float]


def list_quotas(cluster: ClusterClient) -> list[QuotaView]:
    return _described(cluster, DescribeClientQuotasRequest(components=[], strict=False))


def describe_quotas(cluster: ClusterClient, entity: EntityNames) -> QuotaView | None:
    """Of exactly this entity; None where it has none."""
    parts = [
        ComponentData(entity_type=kind, match_type=_DEFAULT if name is None else _EXACT, match=name)
        for kind, name in entity.items()
    ]
    found = _described(cluster, DescribeClientQuotasRequest(components=parts, strict=True))
    return found[0] if found else None


def alter_quotas(cluster: ClusterClient, entity: EntityNames, limits: Mapping[str, float | None]) -> None:
    """None takes a limit back."""
    entry = AlterClientQuotasRequestEntryData(
        entity=[
            AlterClientQuotasRequestEntityData(entity_type=kind, entity_name=name)
            for kind, name in entity.items()
        ],
        ops=[
            OpData(key=key, value=0.0 if value is None else value, remove=value is None)
            for key, value in limits.items()
        ],
    )
    answer = cluster.ask_controller(AlterClientQuotasRequest(entries=[entry]), AlterClientQuotasResponse)
    for told in answer.entries:
        check(told.error_code, "quota", told.error_message)


def _described(cluster: ClusterClient, request: DescribeClientQuotasRequest) -> list[QuotaView]:
    answer = cluster.ask(request, DescribeClientQuotasResponse)
    check(answer.error_code, "quotas", answer.error_message)
    return [
        QuotaView(
            {part.entity_type: part.entity_name for part in entry.entity},
            {value.key: value.value for value in entry.values},
        )
        for entry in answer.entries or ()
    ]
