"""The controller: takes requests to change the cluster's metadata and answers each item.

A request is decided on the image of now (topic_changes.py, config_changes.py, reassignments.py, all
pure) and written under the controller's fence (metadata_writer.py). One request at a time: a success
is in this node's image before the next request is looked at, so a decision never rests on an old
image. Only the node with the claim decides; the others answer `NotController`.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from mainstem.cluster import keys
from mainstem.cluster.config_changes import ConfigRules
from mainstem.cluster.entries import encode_options, encode_quotas, encode_topic, encode_user
from mainstem.cluster.follower import MetadataFollower
from mainstem.cluster.membership import Membership, RandomBytes
from mainstem.cluster.metadata_writer import Change, MetadataWriter
from mainstem.cluster.producer_ids import ProducerIdBlocks
from mainstem.cluster.quota_changes import changed_quotas
from mainstem.cluster.reassignments import check_reassignment, elected, find_partition
from mainstem.cluster.store import Compare, Delete, MetadataStore, Put
from mainstem.cluster.topic_changes import (
    check_request_size,
    created_topic,
    grown_topic,
    requested_partition_count,
)
from mainstem.cluster.topic_names import CollisionIndex
from mainstem.cluster.user_changes import changed_credentials
from mainstem.config.broker import BrokerConfig
from mainstem.core.errors import (
    ElectionNotNeeded,
    InvalidRequest,
    TopicDeletionDisabled,
    UnknownTopicId,
)
from mainstem.core.image import ClusterImage, PartitionImage, TopicImage
from mainstem.core.ports import (
    ConfigChange,
    ConfigResource,
    CredentialChange,
    NewPartitions,
    NewTopic,
    QuotaChange,
    Reassignment,
)
from mainstem.core.quotas.entity import QuotaEntity
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicId, TopicPartition, topic_id_text

ITEMS_PER_STEP = 100  # decided between two turns of the loop

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Controller:
    """Implements `core.ports.TopicAdmin` and, for all else, reads the follower's image.

    `config` is asked for at each request: dynamic options change what it says.
    """

    def __init__(
        self,
        store: MetadataStore,
        follower: MetadataFollower,
        membership: Membership,
        rules: ConfigRules,
        config: Callable[[], BrokerConfig],
        *,
        random_bytes: RandomBytes = os.urandom,
    ) -> None:
        self._follower = follower
        self._writer = MetadataWriter(store, follower, membership)
        self._producer_ids = ProducerIdBlocks(store)
        self._rules = rules
        self._config = config
        self._random_bytes = random_bytes
        self._one_request = asyncio.Lock()

    @property
    def _image(self) -> ClusterImage:
        return self._follower.image

    # --- topics

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False, is_internal: bool = False
    ) -> dict[str, TopicImage | MainstemError]:
        answers: dict[str, TopicImage | MainstemError] = {}
        async with self._one_request:
            config = self._config()
            refusals = _duplicates(topic.name for topic in topics)
            wanted = [topic for topic in topics if topic.name not in refusals]
            try:
                self._writer.check_control()
                check_request_size(sum(requested_partition_count(topic, config) for topic in wanted))
            except MainstemError as error:
                return {topic.name: error for topic in topics}
            answers.update(refusals)
            names = CollisionIndex(self._image.topics)
            for step in _steps(wanted):
                planned: dict[str, TopicImage] = {}
                for topic in step:
                    try:
                        made = created_topic(
                            self._image,
                            topic,
                            self._new_topic_id(),
                            config,
                            names,
                            place=len(self._image.topics) + len(planned),
                            is_internal=is_internal,
                        )
                    except MainstemError as error:
                        answers[topic.name] = error
                    else:
                        planned[topic.name] = made
                        names.add(topic.name)
                answers.update(planned)
                if validate_only:
                    await asyncio.sleep(0)
                else:
                    answers.update(await self._writer.write(_creations(planned)))
        return answers

    def _new_topic_id(self) -> TopicId:
        while True:
            raw = bytearray(self._random_bytes(16))
            raw[6] = raw[6] & 0x0F | 0x40  # a UUID of version 4
            raw[8] = raw[8] & 0x3F | 0x80
            topic_id = TopicId(bytes(raw))
            if not topic_id_text(topic_id).startswith("-") and topic_id not in self._image.topics_by_id:
                return topic_id

    async def delete_topics(self, topic_ids: Sequence[TopicId]) -> dict[TopicId, MainstemError | None]:
        async with self._one_request:
            if not self._config().delete_topic_enable:
                disabled = TopicDeletionDisabled(
                    "topics cannot be deleted here: delete.topic.enable is false"
                )
                return dict.fromkeys(topic_ids, disabled)
            answers: dict[TopicId, MainstemError | None] = dict.fromkeys(topic_ids)
            answers.update(_duplicates(topic_ids))
            changes: dict[TopicId, Change] = {}
            try:
                self._writer.check_control()
            except MainstemError as error:
                return dict.fromkeys(topic_ids, error)
            for topic_id, refusal in answers.items():
                topic = self._image.topics_by_id.get(topic_id)
                if refusal is not None:
                    continue
                if topic is None:
                    answers[topic_id] = UnknownTopicId(f"there is no topic with id {topic_id_text(topic_id)}")
                else:
                    changes[topic_id] = Change(Delete(keys.topic_key(topic.name)))
            answers.update(await self._writer.write(changes))
            return answers

    async def create_partitions(
        self, requests: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> dict[str, MainstemError | None]:
        async with self._one_request:
            answers: dict[str, MainstemError | None] = {request.topic: None for request in requests}
            answers.update(_duplicates(request.topic for request in requests))
            changes: dict[str, Change] = {}
            added = 0
            for request in requests:
                if answers[request.topic] is not None:
                    continue
                try:
                    self._writer.check_control()
                    grown = grown_topic(self._image, request)
                    added += len(grown.partitions) - len(self._image.topics[request.topic].partitions)
                    check_request_size(added)
                except MainstemError as error:
                    answers[request.topic] = error
                else:
                    changes[request.topic] = _replacement(grown)
            if not validate_only:
                answers.update(await self._writer.write(changes))
            return answers

    # --- options

    async def alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool = False
    ) -> dict[ConfigResource, MainstemError | None]:
        return await self._set_options(changes, self._rules.changed, validate_only)

    async def replace_configs(
        self, configs: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool = False
    ) -> dict[ConfigResource, MainstemError | None]:
        return await self._set_options(configs, self._rules.replaced, validate_only)

    async def _set_options(
        self,
        requested: Mapping[ConfigResource, T],
        decide: Callable[[ClusterImage, ConfigResource, T], dict[str, str]],
        validate_only: bool,
    ) -> dict[ConfigResource, MainstemError | None]:
        async with self._one_request:
            answers: dict[ConfigResource, MainstemError | None] = dict.fromkeys(requested)
            for step in _steps(list(requested)):
                changes: dict[ConfigResource, Change] = {}
                for resource in step:
                    try:
                        self._writer.check_control()
                        options = decide(self._image, resource, requested[resource])
                    except MainstemError as error:
                        answers[resource] = error
                        continue
                    if options != self._rules.present(self._image, resource):
                        changes[resource] = self._options_change(resource, options)
                if validate_only:
                    await asyncio.sleep(0)
                else:
                    answers.update(await self._writer.write(changes))
            return answers

    def _options_change(self, resource: ConfigResource, options: dict[str, str]) -> Change:
        if resource.kind == "topic":
            return _replacement(replace(self._image.topics[resource.name], config=options))
        key = keys.config_key(resource.kind, resource.name)
        return Change(Put(key, encode_options(options)) if options else Delete(key))

    async def alter_users(
        self, changes: Mapping[str, Sequence[CredentialChange]]
    ) -> dict[str, MainstemError | None]:
        async with self._one_request:
            answers: dict[str, MainstemError | None] = dict.fromkeys(changes)
            for step in _steps(list(changes)):
                writes: dict[str, Change] = {}
                for name in step:
                    try:
                        self._writer.check_control()
                        credentials = changed_credentials(self._image.users, name, changes[name])
                    except MainstemError as error:
                        answers[name] = error
                        continue
                    key = keys.user_key(name)
                    writes[name] = Change(Put(key, encode_user(credentials)) if credentials else Delete(key))
                answers.update(await self._writer.write(writes))
            return answers

    async def alter_quotas(
        self, changes: Mapping[QuotaEntity, Sequence[QuotaChange]], *, validate_only: bool = False
    ) -> dict[QuotaEntity, MainstemError | None]:
        async with self._one_request:
            answers: dict[QuotaEntity, MainstemError | None] = dict.fromkeys(changes)
            for step in _steps(list(changes)):
                writes: dict[QuotaEntity, Change] = {}
                for entity in step:
                    try:
                        self._writer.check_control()
                        limits = changed_quotas(self._image, entity, changes[entity])
                    except MainstemError as error:
                        answers[entity] = error
                        continue
                    if limits != self._image.quotas.get(entity, {}):
                        key = keys.quota_key(entity)
                        writes[entity] = Change(
                            Put(key, encode_quotas(entity, limits)) if limits else Delete(key)
                        )
                if validate_only:
                    await asyncio.sleep(0)
                else:
                    answers.update(await self._writer.write(writes))
            return answers

    # --- leaders and replicas

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition] | None, *, unclean: bool = False
    ) -> dict[TopicPartition, MainstemError | None]:
        async with self._one_request:
            answers: dict[TopicPartition, MainstemError | None] = {}
            led: dict[str, dict[int, PartitionImage]] = {}
            named = self._all_partitions() if partitions is None else partitions
            for at in named:
                try:
                    self._writer.check_control()
                    partition = elected(self._image, at, unclean=unclean)
                except ElectionNotNeeded as error:
                    if partitions is not None:
                        answers[at] = error
                except MainstemError as error:
                    answers[at] = error
                else:
                    answers[at] = None
                    led.setdefault(at.topic, {})[at.partition] = partition
            changes = {name: _replacement(self._with_partitions(name, new)) for name, new in led.items()}
            for name, failure in (await self._writer.write(changes)).items():
                answers.update({TopicPartition(name, index): failure for index in led[name]})
            return answers

    def _all_partitions(self) -> list[TopicPartition]:
        return [
            TopicPartition(topic.name, index)
            for topic in self._image.topics.values()
            for index in range(len(topic.partitions))
        ]

    def _with_partitions(self, name: str, changed: Mapping[int, PartitionImage]) -> TopicImage:
        topic = self._image.topics[name]
        partitions = list(topic.partitions)
        for index, partition in changed.items():
            partitions[index] = partition
        return replace(topic, partitions=tuple(partitions))

    async def alter_reassignments(
        self, reassignments: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, MainstemError | None]:
        answers: dict[TopicPartition, MainstemError | None] = {}
        for at, replicas in reassignments.items():
            try:
                self._writer.check_control()
                check_reassignment(self._image, at, replicas)
            except MainstemError as error:
                answers[at] = error
            else:
                answers[at] = None
        return answers

    def list_reassignments(self, partitions: Sequence[TopicPartition] | None) -> Sequence[Reassignment]:
        for at in partitions or ():
            find_partition(self._image, at)
        return ()

    async def allocate_producer_ids(self, count: int) -> range:
        return await self._producer_ids.allocate(count)


def _creations(planned: Mapping[str, TopicImage]) -> dict[str, Change]:
    return {
        name: Change(
            Put(keys.topic_key(name), encode_topic(topic)), Compare(keys.topic_key(name), exists=False)
        )
        for name, topic in planned.items()
    }


def _replacement(topic: TopicImage) -> Change:
    return Change(Put(keys.topic_key(topic.name), encode_topic(topic)))


def _duplicates(items: Iterable[K]) -> dict[K, MainstemError]:
    return {
        item: InvalidRequest("the request names this one more than once")
        for item, count in Counter(items).items()
        if count > 1
    }


def _steps(items: Sequence[T]) -> Iterable[list[T]]:
    rest = iter(items)
    while step := list(islice(rest, ITEMS_PER_STEP)):
        yield step
