"""From entries of the store to images: pure, so that it can be tested without a store.

An image never changes. The next one shares with it every part that the change did not touch: a
change of one topic copies two dictionaries of references and decodes one value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from mainstem.cluster import keys
from mainstem.cluster.entries import (
    ClusterEntry,
    ConfigEntry,
    ControllerEntry,
    decode_broker,
    decode_entry,
    decode_quotas,
    decode_rules,
    decode_topic,
    decode_user,
)
from mainstem.cluster.errors import EntryUnreadable
from mainstem.cluster.store import Event
from mainstem.core.identity.acl import AccessRule, ResourcePattern
from mainstem.core.identity.credentials import UserCredentials
from mainstem.core.image import BrokerImage, ClusterImage, MetadataDelta, TopicImage
from mainstem.core.quotas.entity import QuotaEntity
from mainstem.model.ids import TopicId

NO_CONTROLLER = -1

V = TypeVar("V")

EMPTY_IMAGE = ClusterImage(
    cluster_id="", revision=0, controller_id=NO_CONTROLLER, brokers={}, topics={}, topics_by_id={}
)


def next_image(
    image: ClusterImage, events: Iterable[Event], revision: int
) -> tuple[ClusterImage, MetadataDelta]:
    """The image after these events, which are in order of revision and newer than `image`."""
    change = _Change(image)
    for event in events:
        change.take(event)
    return change.result(revision)


class _Change:
    def __init__(self, image: ClusterImage) -> None:
        self._old = image
        self._cluster_id = image.cluster_id
        self._controller_id = image.controller_id
        self._topics: dict[str, TopicImage] | None = None
        self._touched_topics: dict[str, None] = {}  # a set that keeps the order
        self._brokers: dict[int, BrokerImage] | None = None
        self._broker_configs: dict[str, Mapping[str, str]] | None = None
        self._other_configs: dict[str, Mapping[str, Mapping[str, str]]] | None = None
        self._users: dict[str, UserCredentials] | None = None
        self._quotas: dict[QuotaEntity, Mapping[str, float]] | None = None
        self._acls: dict[ResourcePattern, tuple[AccessRule, ...]] | None = None

    def take(self, event: Event) -> None:
        key, value = event.key, event.value
        if key.startswith(keys.TOPICS):
            self._take_topic(key, value)
        elif key.startswith(keys.BROKERS):
            self._take_broker(event)
        elif key.startswith(keys.CONFIGS):
            self._take_config(key, value)
        elif key.startswith(keys.QUOTAS):
            self._take_quotas(key, value)
        elif key.startswith(keys.ACLS):
            self._take_acl(key, value)
        elif key.startswith(keys.USERS):
            self._take_user(key, value)
        elif key == keys.CONTROLLER:
            self._controller_id = (
                NO_CONTROLLER if value is None else decode_entry(ControllerEntry, key, value).node_id
            )
        elif key == keys.CLUSTER and value is not None:
            self._cluster_id = decode_entry(ClusterEntry, key, value).cluster_id

    def _take_topic(self, key: str, value: bytes | None) -> None:
        name = key[len(keys.TOPICS) :]
        if self._topics is None:
            self._topics = dict(self._old.topics)
        self._touched_topics[name] = None
        if value is None:
            self._topics.pop(name, None)
        else:
            self._topics[name] = decode_topic(name, key, value)

    def _take_broker(self, event: Event) -> None:
        text = event.key[len(keys.BROKERS) :]
        if not text.isdecimal():
            raise EntryUnreadable(event.key, "the key does not end in a node id")
        if self._brokers is None:
            self._brokers = dict(self._old.brokers)
        if event.value is None:
            self._brokers.pop(int(text), None)
        else:
            self._brokers[int(text)] = decode_broker(int(text), event.key, event.value, event.revision)

    def _take_config(self, key: str, value: bytes | None) -> None:
        kind, name = keys.split_config_key(key)
        options = None if value is None else decode_entry(ConfigEntry, key, value).options
        if kind == "broker":
            if self._broker_configs is None:
                self._broker_configs = dict(self._old.broker_configs)
            _set_or_remove(self._broker_configs, name, options)
            return
        if self._other_configs is None:
            self._other_configs = dict(self._old.other_configs)
        of_kind = dict(self._other_configs.get(kind, {}))
        _set_or_remove(of_kind, name, options)
        _set_or_remove(self._other_configs, kind, of_kind or None)

    def _take_user(self, key: str, value: bytes | None) -> None:
        if self._users is None:
            self._users = dict(self._old.users)
        name = key[len(keys.USERS) :]
        _set_or_remove(self._users, name, None if value is None else decode_user(key, value))

    def _take_quotas(self, key: str, value: bytes | None) -> None:
        if self._quotas is None:
            self._quotas = dict(self._old.quotas)
        if value is None:
            self._quotas.pop(keys.split_quota_key(key), None)
        else:
            entity, limits = decode_quotas(key, value)
            self._quotas[entity] = limits

    def _take_acl(self, key: str, value: bytes | None) -> None:
        try:
            pattern = keys.pattern_of_acl_key(key)
        except ValueError as error:
            raise EntryUnreadable(key, str(error)) from error
        if self._acls is None:
            self._acls = dict(self._old.acls)
        if value is None:
            self._acls.pop(pattern, None)
        else:
            self._acls[pattern] = decode_rules(key, value)

    def result(self, revision: int) -> tuple[ClusterImage, MetadataDelta]:
        old = self._old
        created, changed, removed = self._topic_changes()
        image = ClusterImage(
            cluster_id=self._cluster_id,
            revision=revision,
            controller_id=self._controller_id,
            brokers=old.brokers if self._brokers is None else self._brokers,
            topics=old.topics if self._topics is None else self._topics,
            topics_by_id=self._topics_by_id(created, changed, removed),
            broker_configs=old.broker_configs if self._broker_configs is None else self._broker_configs,
            other_configs=old.other_configs if self._other_configs is None else self._other_configs,
            quotas=old.quotas if self._quotas is None else self._quotas,
            acls=old.acls if self._acls is None else self._acls,
            users=old.users if self._users is None else self._users,
        )
        delta = MetadataDelta(
            created=created,
            changed=changed,
            removed=removed,
            brokers_changed=image.brokers != old.brokers,
            broker_configs_changed=image.broker_configs != old.broker_configs,
            other_configs_changed=image.other_configs != old.other_configs,
            quotas_changed=image.quotas != old.quotas,
            acls_changed=self._acls is not None and self._acls != old.acls,
            controller_changed=image.controller_id != old.controller_id,
        )
        return image, delta

    def _topic_changes(
        self,
    ) -> tuple[tuple[TopicImage, ...], tuple[TopicImage, ...], tuple[TopicImage, ...]]:
        created: list[TopicImage] = []
        changed: list[TopicImage] = []
        removed: list[TopicImage] = []
        topics = self._topics or {}
        for name in self._touched_topics:
            before, after = self._old.topics.get(name), topics.get(name)
            if before is not None and after is not None and before.topic_id == after.topic_id:
                if before != after:
                    changed.append(after)
                continue
            if before is not None:
                removed.append(before)
            if after is not None:
                created.append(after)
        return tuple(created), tuple(changed), tuple(removed)

    def _topics_by_id(
        self,
        created: tuple[TopicImage, ...],
        changed: tuple[TopicImage, ...],
        removed: tuple[TopicImage, ...],
    ) -> Mapping[TopicId, TopicImage]:
        if not (created or changed or removed):
            return self._old.topics_by_id
        by_id = dict(self._old.topics_by_id)
        for topic in removed:
            by_id.pop(topic.topic_id, None)
        for topic in created + changed:
            by_id[topic.topic_id] = topic
        return by_id


def _set_or_remove(target: dict[str, V], name: str, value: V | None) -> None:
    if value is None:
        target.pop(name, None)
    else:
        target[name] = value


def missing_as_deleted(image: ClusterImage, events: Iterable[Event], revision: int) -> list[Event]:
    """What a full read of the store says about `image`: the entries read, and that the rest is gone."""
    read = list(events)
    present = {event.key for event in read}
    known = [
        *(keys.topic_key(name) for name in image.topics),
        *(keys.broker_key(node_id) for node_id in image.brokers),
        *(keys.config_key("broker", name) for name in image.broker_configs),
        *(keys.config_key(kind, name) for kind, names in image.other_configs.items() for name in names),
        *(keys.quota_key(entity) for entity in image.quotas),
        *(keys.acl_key(pattern) for pattern in image.acls),
        *(keys.user_key(name) for name in image.users),
        *([keys.CONTROLLER] if image.controller_id != NO_CONTROLLER else []),
    ]
    gone = [Event(key, None, revision) for key in known if key not in present]
    return gone + read
