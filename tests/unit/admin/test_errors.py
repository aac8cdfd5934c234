"""From errors to statuses, codes and cures."""

from __future__ import annotations

import pytest

from mainstem.admin.errors import Refusal, refusal_of
from mainstem.core import errors as core
from mainstem.model.errors import BrokerError, DiskError, MainstemError, PeerError


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (core.UnknownTopicOrPartition("x"), 404, "unknown_topic_or_partition"),
        (core.TopicAlreadyExists("x"), 409, "topic_already_exists"),
        (core.InvalidConfig("x"), 400, "invalid_config"),
        (core.NotController("x"), 503, "not_controller"),
        (core.StorageFailed("x"), 503, "storage_failed"),
        (core.FencedLeaderEpoch("x"), 400, "fenced_leader_epoch"),
        (core.NotEnoughReplicas("x"), 503, "not_enough_replicas"),
        (PeerError("x"), 400, "peer_error"),
        (DiskError("x"), 503, "disk_error"),
        (BrokerError("x"), 503, "broker_error"),
        (ValueError("x"), 500, "internal_error"),
        (MainstemError("x"), 500, "internal_error"),
    ],
)
def test_who_is_at_fault_decides_the_status(error: Exception, status: int, code: str) -> None:
    refusal = refusal_of(error)
    assert (refusal.status, refusal.answer.error.code) == (status, code)
    assert refusal.answer.error.cure


def test_an_error_without_words_tells_its_name() -> None:
    assert refusal_of(core.NonEmptyGroup()).answer.error.message == "NonEmptyGroup"


def test_a_refusal_is_itself() -> None:
    refusal = Refusal(418, "teapot", "No coffee.", "Ask for tea.")
    assert refusal_of(refusal) is refusal
