"""Figures of log-ins and of TLS. No name of a user is among them: names come from strangers."""

from __future__ import annotations

from collections.abc import Iterable

from mainstem.admin.metrics.exposition import Family, Sample, by_label, counter, labels
from mainstem.admin.node import Node


def families(node: Node) -> Iterable[Family]:
    logins = node.logins
    yield by_label("counter", "logins_total", "Log-ins that succeeded.", "mechanism", logins.succeeded)
    yield by_label("counter", "login_failures_total", "Log-ins that failed.", "mechanism", logins.failed)
    yield counter(
        "login_timeouts_total", "Connections closed because they did not log in in time.", logins.too_slow
    )
    yield counter(
        "login_expiries_total", "Connections closed because their log-in had run out.", logins.expired
    )
    yield counter("tls_handshakes_total", "TLS handshakes that succeeded.", node.connections.tls_handshakes)
    yield counter(
        "tls_handshake_failures_total", "TLS handshakes that failed.", node.connections.tls_handshakes_failed
    )
    served = [(labels(listener=each.listener), each) for each in node.certificates]
    yield Family(
        "tls_certificate_expiry_seconds",
        "gauge",
        "When the certificate that a listener shows ends, since 1970.",
        [Sample(label, each.expires_at_s) for label, each in served if each.expires_at_s is not None],
    )
    yield Family(
        "tls_certificate_reloads_total",
        "counter",
        "How often a changed certificate was taken.",
        [Sample(label, each.reloads) for label, each in served],
    )
    yield Family(
        "tls_certificate_reload_failures_total",
        "counter",
        "How often changed files could not be used, and the old certificate stayed.",
        [Sample(label, each.failed_reloads) for label, each in served],
    )
