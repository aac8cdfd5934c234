"""Quotas from a request to the store, and from the store to the image."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainstem.cluster import keys
from mainstem.cluster.entries import decode_quotas, encode_quotas
from mainstem.cluster.errors import EntryUnreadable
from mainstem.cluster.image_builder import EMPTY_IMAGE, missing_as_deleted, next_image
from mainstem.cluster.quota_changes import changed_quotas
from mainstem.cluster.store import Event
from mainstem.core.errors import InvalidRequest
from mainstem.core.image import ClusterImage
from mainstem.core.ports import QuotaChange
from mainstem.core.quotas.entity import QuotaEntity, checked_entity

ALICE = checked_entity([("user", "alice")])
EVERYBODY = checked_entity([("user", None)])
NAMES = st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
ENTITIES = st.dictionaries(st.sampled_from(["user", "client-id"]), NAMES, min_size=1).map(QuotaEntity.of)


def put(entity: QuotaEntity, limits: dict[str, float], revision: int = 2) -> Event:
    return Event(keys.quota_key(entity), encode_quotas(entity, limits), revision)


def image_with(limits: dict[QuotaEntity, dict[str, float]]) -> ClusterImage:
    return next_image(EMPTY_IMAGE, [put(entity, of_it) for entity, of_it in limits.items()], 2)[0]


@given(ENTITIES)
def test_every_entity_has_a_key_of_its_own_and_comes_back(entity: QuotaEntity) -> None:
    key = keys.quota_key(entity)
    assert keys.split_quota_key(key) == entity
    assert decode_quotas(key, encode_quotas(entity, {"producer_byte_rate": 5.0})) == (
        entity,
        {"producer_byte_rate": 5.0},
    )


@pytest.mark.parametrize("value", [b"", b'{"limits":{}}', b'{"entity":{"team":"x"},"limits":{}}'])
def test_a_damaged_entry_names_its_key(value: bytes) -> None:
    with pytest.raises(EntryUnreadable, match="/mainstem/quotas/user=alice"):
        decode_quotas(keys.quota_key(ALICE), value)


def test_quotas_arrive_with_a_delta_and_vanish_with_their_entry() -> None:
    image, delta = next_image(EMPTY_IMAGE, [put(ALICE, {"request_percentage": 5.0})], 2)
    assert image.quotas == {ALICE: {"request_percentage": 5.0}}
    assert delta.quotas_changed
    same, delta = next_image(image, [put(ALICE, {"request_percentage": 5.0}, 3)], 3)
    assert not delta.quotas_changed
    gone, delta = next_image(same, [Event(keys.quota_key(ALICE), None, 4)], 4)
    assert not gone.quotas
    assert delta.quotas_changed


def test_a_full_read_says_which_quotas_are_gone() -> None:
    image = image_with({ALICE: {"request_percentage": 5.0}, EVERYBODY: {"request_percentage": 6.0}})
    read = [put(EVERYBODY, {"request_percentage": 6.0}, 2)]
    after, _ = next_image(image, missing_as_deleted(image, read, 9), 9)
    assert set(after.quotas) == {EVERYBODY}


def test_changes_add_replace_and_remove() -> None:
    image = image_with({ALICE: {"producer_byte_rate": 5.0, "request_percentage": 6.0}})
    changes = [QuotaChange("producer_byte_rate", 7), QuotaChange("request_percentage", None)]
    assert changed_quotas(image, ALICE, changes) == {"producer_byte_rate": 7}
    assert changed_quotas(image, EVERYBODY, [QuotaChange("producer_byte_rate", None)]) == {}


@pytest.mark.parametrize(
    "changes",
    [
        [QuotaChange("producer_byte_rate", 1), QuotaChange("producer_byte_rate", 2)],
        [QuotaChange("producer_byte_rate", 0)],
        [QuotaChange("connection_creation_rate", 1)],
        [QuotaChange("connection_creation_rate", None)],
        [QuotaChange("speed", 1)],
    ],
)
def test_changes_that_cannot_be_are_refused(changes: list[QuotaChange]) -> None:
    with pytest.raises(InvalidRequest):
        changed_quotas(EMPTY_IMAGE, ALICE, changes)
