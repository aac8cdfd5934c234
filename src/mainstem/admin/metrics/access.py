"""Figures of the authorizer; there are none where access rules are off."""

from __future__ import annotations

from collections.abc import Iterable

from mainstem.admin.metrics.exposition import Family, counter, gauge
from mainstem.admin.node import Node


def families(node: Node) -> Iterable[Family]:
    authorizer = node.broker.authorizer
    if authorizer is None:
        return
    yield counter(
        "operations_allowed_total", "Operations that access rules gave leave for.", authorizer.allowed_count
    )
    yield counter(
        "operations_denied_total",
        "Operations that were refused for want of a permission; the log names them.",
        authorizer.denied_count,
    )
    yield gauge(
        "access_rules",
        "Access rules (ACLs) that this node knows.",
        sum(len(rules) for rules in node.metadata.image.acls.values()),
    )
    yield gauge(
        "access_decisions_remembered",
        "Decisions that the authorizer need not make again.",
        authorizer.remembered_count,
    )
