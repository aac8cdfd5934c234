"""The partitions of this node: follows the metadata image and owns their logs.

`apply` is the only way in: it compares what the image assigns to this node with what is open here, and
creates, opens, reconfigures or removes. Starting up is the same call with a delta in which every topic
was created. Disk work (new directories) happens in a worker thread before the image is shown to
anybody, so a topic that a client can see can also be written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from mainstem.config.broker import BrokerConfig
from mainstem.config.topic import TopicConfig, resolve_topic_config
from mainstem.core.errors import NotLeaderOrFollower, StorageFailed, UnknownTopicOrPartition
from mainstem.core.image import ClusterImage, MetadataDelta, TopicImage
from mainstem.core.partition import Partition
from mainstem.log.directories import LogDirectories
from mainstem.log.durability import Durability
from mainstem.log.partition_log import PartitionLog
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicId, TopicPartition, topic_id_text

logger = logging.getLogger(__name__)


class LeadershipListener(Protocol):
    """A coordinator that lives on the partitions of one internal topic."""

    topic: str

    def on_leader(self, partition: Partition) -> None: ...

    def on_resigned(self, partition: Partition) -> None: ...


class Replicas:
    def __init__(
        self,
        node_id: int,
        directories: LogDirectories,
        durability: Durability,
        config: Callable[[], BrokerConfig],
    ) -> None:
        self._node_id = node_id
        self._directories = directories
        self._durability = durability
        self._config = config
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._failed: dict[tuple[str, int], str] = {}
        self._listeners: dict[str, LeadershipListener] = {}
        self._image: ClusterImage | None = None
        self._has_started = False  # the first image was applied
        directories.on_directory_failed = self.fail_directory

    # ------------------------------------------------------------------ looking up

    @property
    def partitions(self) -> Mapping[tuple[str, int], Partition]:
        return self._partitions

    @property
    def failed(self) -> Mapping[tuple[str, int], str]:
        """Partitions that are offline here, with the reason."""
        return self._failed

    def get(self, topic: str, index: int) -> Partition:
        """The partition if this node leads it, or the error that tells the client where to look."""
        partition = self._partitions.get((topic, index))
        if partition is not None:
            return partition
        reason = self._failed.get((topic, index))
        if reason is not None:
            raise StorageFailed(reason)
        known = self._image.topics.get(topic) if self._image is not None else None
        if known is not None and 0 <= index < len(known.partitions):
            raise NotLeaderOrFollower(f"node {self._node_id} does not lead {topic}-{index}")
        raise UnknownTopicOrPartition(f"there is no partition {topic}-{index}")

    def listen(self, listener: LeadershipListener) -> None:
        """Coordinators register before the first image is applied."""
        self._listeners[listener.topic] = listener

    # ------------------------------------------------------------------ following the image

    async def apply(self, image: ClusterImage, delta: MetadataDelta) -> None:
        for topic in delta.removed:
            self._remove(topic)
        self._image = image
        wanted = self._missing_logs((*delta.created, *delta.changed))
        if wanted:
            await asyncio.to_thread(self._create_logs, wanted)
        for topic in delta.created:
            self._open(topic)
        for topic in delta.changed:
            self._open(topic)
            self._reconfigure(topic)
        if delta.broker_configs_changed:
            for topic in image.topics.values():
                self._reconfigure(topic)
        self._has_started = True

    def config_of(self, topic: TopicImage) -> TopicConfig:
        return resolve_topic_config(topic.config, self._config())

    def _missing_logs(
        self, topics: tuple[TopicImage, ...]
    ) -> list[tuple[TopicPartition, TopicId, TopicConfig]]:
        missing = []
        for topic in topics:
            config: TopicConfig | None = None
            for index, partition in enumerate(topic.partitions):
                key = TopicPartition(topic.name, index)
                if self._node_id not in partition.replicas or key in self._failed:
                    continue
                log = self._directories.logs.get(key)
                if log is not None and log.topic_id != topic.topic_id:
                    logger.warning(
                        "%s holds an older topic of that name (id %s); it is deleted",
                        key,
                        topic_id_text(log.topic_id),
                    )
                    self._delete_log(key)
                    log = None
                if log is None and self._is_perhaps_offline(key):
                    continue
                if log is None:
                    config = config or self.config_of(topic)
                    missing.append((key, topic.topic_id, config))
        return missing

    def _is_perhaps_offline(self, key: TopicPartition) -> bool:
        """At the start, a log found nowhere may be in a directory that cannot be read: never make it anew."""
        offline = self._directories.offline
        if self._has_started or not offline:
            return False
        self._failed[key] = f"not found, and the log directory {', '.join(offline)} is offline"
        logger.error("partition %s is offline: %s", key, self._failed[key])
        return True

    def _create_logs(self, wanted: list[tuple[TopicPartition, TopicId, TopicConfig]]) -> None:
        while True:
            offline_count = len(self._directories.offline)
            try:
                self._directories.create_many(wanted)
                return
            except MainstemError as error:
                wanted = [item for item in wanted if item[0] not in self._directories.logs]
                if len(self._directories.offline) > offline_count and self._directories.has_online:
                    continue  # one directory less: the others take what is left
                logger.error("cannot create %d partition(s): %s", len(wanted), error)
                for key, _, _ in wanted:
                    self._failed[key] = str(error)
                return

    def _open(self, topic: TopicImage) -> None:
        config: TopicConfig | None = None
        for index, state in enumerate(topic.partitions):
            key = (topic.name, index)
            known = self._partitions.get(key)
            if state.leader != self._node_id:
                if known is not None:
                    self._resign(known)
                continue
            if known is not None:
                known.leader_epoch = state.leader_epoch
                continue
            log = self._directories.logs.get(TopicPartition(topic.name, index))
            if log is not None:
                config = config or self.config_of(topic)
                if log.config is not config:
                    log.update_config(config)
                self._lead(key, log, state.leader_epoch)

    def _lead(self, key: tuple[str, int], log: PartitionLog, leader_epoch: int) -> None:
        partition = Partition(
            log.topic_partition, log, leader_epoch, self._durability, on_failed=self._on_failed
        )
        self._partitions[key] = partition
        self._failed.pop(key, None)
        listener = self._listeners.get(log.topic_partition.topic)
        if listener is not None:
            listener.on_leader(partition)

    def _reconfigure(self, topic: TopicImage) -> None:
        config = self.config_of(topic)
        for index in range(len(topic.partitions)):
            partition = self._partitions.get((topic.name, index))
            if partition is not None and partition.log.config != config:
                partition.log.update_config(config)

    def _remove(self, topic: TopicImage) -> None:
        gone = UnknownTopicOrPartition(f"topic {topic.name} was deleted")
        for index in range(len(topic.partitions)):
            key = TopicPartition(topic.name, index)
            self._failed.pop(key, None)
            partition = self._partitions.pop(key, None)
            if partition is not None:
                self._tell_resigned(partition)
                partition.close(gone)
            if key in self._directories.logs:
                self._delete_log(key)

    def _delete_log(self, key: TopicPartition) -> None:
        self._durability.forget(self._directories.schedule_delete(key))

    def _resign(self, partition: Partition) -> None:
        del self._partitions[partition.topic_partition]
        self._tell_resigned(partition)
        partition.close(NotLeaderOrFollower(f"{partition.topic_partition} is led by another node now"))

    def _tell_resigned(self, partition: Partition) -> None:
        listener = self._listeners.get(partition.topic_partition.topic)
        if listener is not None:
            listener.on_resigned(partition)

    # ------------------------------------------------------------------ failures

    def fail_directory(self, path: str, reason: str) -> None:
        """A log directory is gone: its own partitions go offline, all others stay."""
        for partition in list(self._partitions.values()):
            if partition.log.directory.rpartition("/")[0] == path:
                partition.fail(StorageFailed(reason))

    def _on_failed(self, partition: Partition, error: Exception) -> None:
        key = partition.topic_partition
        if self._partitions.pop(key, None) is not None:
            logger.error("partition %s is offline: %s", key, error)
            self._failed[key] = str(error)
            self._tell_resigned(partition)
            self._directories.fail(partition.log.directory.rpartition("/")[0], str(error))

    def close(self) -> None:
        reason = NotLeaderOrFollower("the broker is stopping")
        for partition in list(self._partitions.values()):
            self._tell_resigned(partition)
            partition.close(reason)
        self._partitions.clear()
