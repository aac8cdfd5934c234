"""All options of the broker, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mainstem.config.authorization_options import AuthorizationOptions
from mainstem.config.connection_options import ConnectionOptions
from mainstem.config.group_options import GroupOptions
from mainstem.config.log_options import LogOptions
from mainstem.config.node_options import NodeOptions
from mainstem.config.option import Option, options_of
from mainstem.config.quota_options import QuotaOptions
from mainstem.config.security_options import ListenerOptions, SecurityOptions
from mainstem.config.transaction_options import TransactionOptions


@dataclass(frozen=True)
class BrokerOptions(
    AuthorizationOptions,
    QuotaOptions,
    TransactionOptions,
    GroupOptions,
    ConnectionOptions,
    SecurityOptions,
    ListenerOptions,
    LogOptions,
    NodeOptions,
):
    """The typed values; what a mixed-in class declares last is listed first."""


BROKER_OPTIONS: Mapping[str, Option] = options_of(BrokerOptions)
