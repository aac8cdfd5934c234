"""Figures of quotas: who takes how much, and who had to wait for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mainstem.admin.metrics.exposition import Family, Sample, counter, gauge, labels
from mainstem.admin.node import Node
from mainstem.core.quotas.clients import AccountReport

_MOST_ACCOUNTS: Final = 200  # those used last: names of clients must not make the page grow without bound


def families(node: Node) -> Iterable[Family]:
    image = node.broker.image
    yield gauge("quotas", "Entities that have a quota.", len(image.quotas))
    yield counter(
        "connections_throttled_total",
        "Connections held and closed for the quota of their address.",
        node.connections.connections_throttled,
    )
    reports = [
        *node.broker.quotas.reports(_MOST_ACCOUNTS),
        *node.connection_quotas.reports(_MOST_ACCOUNTS),
    ]
    labelled = [(_labels(report), report) for report in reports]
    yield Family(
        "quota_limit",
        "gauge",
        "The limit, by who is counted under it; of those used last.",
        [Sample(label_text, report.limit) for label_text, report in labelled],
    )
    yield Family(
        "quota_rate",
        "gauge",
        "Use per second; of controller_mutation_rate what is left to use.",
        [Sample(label_text, report.rate) for label_text, report in labelled],
    )
    yield Family(
        "quota_throttled_total",
        "counter",
        "How often somebody over the limit was told to wait.",
        [Sample(label_text, report.throttled_count) for label_text, report in labelled],
    )
    yield Family(
        "quota_throttled_seconds_total",
        "counter",
        "How long they were told to wait.",
        [Sample(label_text, report.throttled_ms / 1000) for label_text, report in labelled],
    )


def _labels(report: AccountReport) -> str:
    user, client_id, ip = (name or "" for name in report.account)
    return labels(quota=report.limit_name, user=user, client_id=client_id, ip=ip)
