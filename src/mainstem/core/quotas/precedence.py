"""Which quota counts for a client: of all that could, the nearest, in Kafka's order.

    1  user, client id            accounts of (user, client id): each client of the user has its own
    2  user, default client                "
    3  user                       account of the user: all clients of the user share it
    4  default user, client id    accounts of (user, client id)
    5  default user, default client        "
    6  default user               account of the user
    7  client id                  account of the client id: all users with that client id share it
    8  default client                      "

Each limit is looked for by itself: one client may have its producer_byte_rate from its user and its
consumer_byte_rate from its client id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mainstem.core.quotas.entity import CLIENT_ID, IP, USER, QuotaEntity


class Account(NamedTuple):
    """Who is counted together; None: whoever."""

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None


class Quota(NamedTuple):
    limit: float
    account: Account


_Names = tuple[tuple[str, str | None], ...]


class QuotaTable:
    """All quotas, by limit and then by entity; never changes."""

    def __init__(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        self._by_limit: dict[str, dict[_Names, float]] = {}
        for entity, limits in quotas.items():
            for key, value in limits.items():
                self._by_limit.setdefault(key, {})[entity.parts] = value

    def has(self, limit: str) -> bool:
        return limit in self._by_limit

    def of_client(self, limit: str, user: str, client_id: str) -> Quota | None:
        values = self._by_limit.get(limit)
        if values is None:
            return None
        for names, account in _levels(user, client_id):
            value = values.get(names)
            if value is not None:
                return Quota(value, account)
        return None

    def of_address(self, limit: str, ip: str) -> Quota | None:
        values = self._by_limit.get(limit)
        if values is None:
            return None
        value = values.get(((IP, ip),), values.get(((IP, None),)))
        return None if value is None else Quota(value, Account(ip=ip))


def _levels(user: str, client_id: str) -> tuple[tuple[_Names, Account], ...]:
    both, of_user, of_client = Account(user, client_id), Account(user), Account(None, client_id)
    return (
        (((USER, user), (CLIENT_ID, client_id)), both),
        (((USER, user), (CLIENT_ID, None)), both),
        (((USER, user),), of_user),
        (((USER, None), (CLIENT_ID, client_id)), both),
        (((USER, None), (CLIENT_ID, None)), both),
        (((USER, None),), of_user),
        (((CLIENT_ID, client_id),), of_client),
        (((CLIENT_ID, None),), of_client),
    )
