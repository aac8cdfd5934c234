"""The broker's options about how quotas are measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mainstem.config.option import Scope, declare
from mainstem.config.value import INT_MAX, Kind

_broker = partial(declare, scope=Scope.BROKER)


@dataclass(frozen=True)
class QuotaOptions:
    """The windows over which a client's use is averaged; the limits are set with AlterClientQuotas."""

    quota_window_num: int = _broker(
        "quota.window.num",
        Kind.INT,
        11,
        "How many windows quotas of bytes, of request time and of connections are averaged over. A client "
        "that was silent may use all but one window's worth at once.",
        minimum=1,
        maximum=10_000,
    )
    quota_window_size_seconds: int = _broker(
        "quota.window.size.seconds",
        Kind.INT,
        1,
        "How long each of these windows is.",
        minimum=1,
        maximum=INT_MAX // 1000,
    )
    controller_quota_window_num: int = _broker(
        "controller.quota.window.num",
        Kind.INT,
        11,
        "How many windows' worth of changes of topics and partitions a client may make at once.",
        minimum=1,
        maximum=10_000,
    )
    controller_quota_window_size_seconds: int = _broker(
        "controller.quota.window.size.seconds",
        Kind.INT,
        1,
        "How long each of these windows is.",
        minimum=1,
        maximum=INT_MAX // 1000,
    )
