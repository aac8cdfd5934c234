"""Images from events: the next shares with the one before all that did not change."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.unit.cluster.node import topic_of

from mainstem.cluster import keys
from mainstem.cluster.entries import (
    BrokerEntry,
    ClusterEntry,
    ControllerEntry,
    encode_entry,
    encode_options,
    encode_topic,
)
from mainstem.cluster.errors import EntryUnreadable
from mainstem.cluster.image_builder import EMPTY_IMAGE, missing_as_deleted, next_image
from mainstem.cluster.store import Event
from mainstem.core.image import ClusterImage, MetadataDelta, TopicImage
from mainstem.model.ids import TopicId


def topic_event(topic: TopicImage, revision: int = 2) -> Event:
    return Event(keys.topic_key(topic.name), encode_topic(topic), revision)


def gone(key: str, revision: int = 3) -> Event:
    return Event(key, None, revision)


def broker_event(node_id: int, port: int, revision: int = 2) -> Event:
    return Event(keys.broker_key(node_id), encode_entry(BrokerEntry(host="h", port=port)), revision)


def built(*events: Event, on: ClusterImage = EMPTY_IMAGE) -> tuple[ClusterImage, MetadataDelta]:
    return next_image(on, events, events[-1].revision if events else 1)


def base() -> ClusterImage:
    image, _ = built(
        topic_event(topic_of("a")),
        topic_event(topic_of("b", 2)),
        broker_event(1, 9001),
        Event(keys.CLUSTER, encode_entry(ClusterEntry(cluster_id="c")), 2),
        Event(keys.CONTROLLER, encode_entry(ControllerEntry(node_id=1)), 2),
        Event(keys.config_key("broker", "1"), encode_options({"x": "1"}), 2),
        Event(keys.config_key("group", "g/1"), encode_options({"y": "2"}), 2),
    )
    return image


def names(topics: Sequence[TopicImage]) -> list[str]:
    return [topic.name for topic in topics]


def test_everything_finds_its_place() -> None:
    image = base()
    assert image.cluster_id == "c"
    assert image.controller_id == 1
    assert image.brokers[1].epoch == 2
    assert sorted(image.topics) == ["a", "b"]
    assert image.broker_configs == {"1": {"x": "1"}}
    assert image.other_configs == {"group": {"g/1": {"y": "2"}}}
    assert image.topics_by_id == {topic.topic_id: topic for topic in image.topics.values()}


def test_what_did_not_change_is_shared() -> None:
    before = base()
    after, delta = built(Event(keys.config_key("broker", ""), encode_options({"z": "3"}), 3), on=before)
    assert after.topics is before.topics
    assert after.topics_by_id is before.topics_by_id
    assert after.brokers is before.brokers
    assert after.other_configs is before.other_configs
    assert before.broker_configs == {"1": {"x": "1"}}
    assert delta == MetadataDelta(broker_configs_changed=True)
    touched, _ = built(topic_event(topic_of("a", 2), 3), on=before)
    assert touched.topics["b"] is before.topics["b"]
    assert len(before.topics["a"].partitions) == 1


def test_topics_created_changed_removed_and_made_anew() -> None:
    image = base()
    anew = TopicImage("b", TopicId(b"9" * 16), topic_of("b").partitions)
    after, delta = built(
        topic_event(topic_of("c"), 3), topic_event(topic_of("a", 5), 3), topic_event(anew, 3), on=image
    )
    assert names(delta.created) == ["c", "b"]
    assert names(delta.changed) == ["a"]
    assert delta.removed == (image.topics["b"],)
    assert image.topics["b"].topic_id not in after.topics_by_id
    assert after.topics_by_id[anew.topic_id] == anew


def test_what_cancels_out_between_two_images_is_not_in_the_delta() -> None:
    image = base()
    _, delta = built(
        topic_event(topic_of("new"), 3),
        gone(keys.topic_key("new"), 4),
        topic_event(topic_of("a", 2), 5),
        topic_event(topic_of("a", 1), 6),
        gone(keys.topic_key("b"), 7),
        topic_event(topic_of("b", 2), 8),
        gone(keys.topic_key("never"), 9),
        on=image,
    )
    assert delta == MetadataDelta()


def test_brokers_come_back_under_a_new_epoch() -> None:
    image = base()
    after, delta = built(gone(keys.broker_key(1)), broker_event(1, 9001, 4), on=image)
    assert after.brokers[1].epoch == 4
    assert delta.brokers_changed
    away, delta = built(gone(keys.broker_key(1), 5), gone(keys.CONTROLLER, 5), on=after)
    assert not away.brokers
    assert away.controller_id == -1
    assert delta.controller_changed


def test_configs_vanish_with_their_last_option() -> None:
    after, delta = built(
        gone(keys.config_key("group", "g/1")), gone(keys.config_key("broker", "1")), on=base()
    )
    assert after.other_configs == {}
    assert after.broker_configs == {}
    assert delta.other_configs_changed
    assert delta.broker_configs_changed


def test_keys_of_a_later_release_are_passed_over() -> None:
    image, delta = built(Event(keys.ROOT + "of-later/alice", b"?", 2), Event(keys.PRODUCER_IDS, b"{}", 2))
    assert (image.topics, image.brokers) == ({}, {})
    assert delta == MetadataDelta()


@pytest.mark.parametrize(
    "event",
    [
        Event(keys.BROKERS + "x", b"{}", 2),
        Event(keys.BROKERS, b"{}", 2),
        Event(keys.BROKERS + "1", b"{}", 2),
        Event(keys.TOPICS + "a", b"{}", 2),
        Event(keys.CONTROLLER, b"7", 2),
        Event(keys.CONFIGS + "broker/1", b"[]", 2),
    ],
)
def test_damage_names_the_key(event: Event) -> None:
    with pytest.raises(EntryUnreadable, match=event.key):
        built(event)


def test_a_full_read_says_what_is_gone() -> None:
    image = base()
    read = [topic_event(topic_of("a"), 2), topic_event(topic_of("c"), 7)]
    after, delta = next_image(image, missing_as_deleted(image, read, 9), 9)
    assert sorted(after.topics) == ["a", "c"]
    assert names(delta.removed) == ["b"]
    assert names(delta.created) == ["c"]
    assert not after.brokers
    assert after.controller_id == -1
    assert after.broker_configs == {}
    assert after.other_configs == {}
    assert after.cluster_id == "c"
