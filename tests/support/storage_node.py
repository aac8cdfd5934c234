"""A node's partitions over log directories on a simulated disk, without heads, server or cluster.

The clock stands still until a test moves it. What is produced goes through `Partition`, as it does in a
broker; a commit on disk takes a real commit round, in the same turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.support.logs import StandingClock, batch_of, staged
from tests.support.simulated_disk import SimulatedDisk

from mainstem.config.broker import BrokerConfig
from mainstem.config.source import Layer, Source
from mainstem.config.topic import resolve_topic_config
from mainstem.core.housekeeping import Housekeeping
from mainstem.core.image import BrokerImage, ClusterImage, MetadataDelta, PartitionImage, TopicImage
from mainstem.core.partition import Partition, ProduceResult
from mainstem.core.replicas import Replicas
from mainstem.log.directories import DirectorySettings, LogDirectories
from mainstem.log.durability import Commit, CommitLimits, CommittedLog, DirectoryCommit, OnDurable
from mainstem.log.log_directory import JournalSize, Owner
from mainstem.log.open_files import OpenFiles
from mainstem.log.staged import AppendRun
from mainstem.log.storage import LogStorage
from mainstem.model.ids import TopicId

NODE_ID = 1


class TurnDurability:
    """Commits each run by itself, in the turn that brought it, until the test holds it back."""

    def __init__(self, directories: LogDirectories) -> None:
        self._directories = directories
        self._rounds: dict[str, DirectoryCommit] = {}
        self.is_held = False
        self.held: list[Commit] = []
        self.forgotten: list[CommittedLog] = []

    def commit(self, log: CommittedLog, run: AppendRun, on_durable: OnDurable) -> None:
        commit = Commit(log, run, on_durable)
        if self.is_held:
            self.held.append(commit)
        else:
            self._run(commit)

    def release(self) -> None:
        self.is_held = False
        held, self.held = self.held, []
        for commit in held:
            self._run(commit)

    def _run(self, commit: Commit) -> None:
        path = commit.log.directory.rpartition("/")[0]
        rounds = self._rounds.get(path)
        if rounds is None:
            journal = self._directories.journals[path]
            rounds = self._rounds[path] = DirectoryCommit(journal, CommitLimits())
        try:
            rounds.run([commit])
        except Exception as error:
            self._directories.fail(path, str(error))
            commit.on_durable(error)
        else:
            commit.on_durable(None)

    def forget(self, log: CommittedLog) -> None:
        self.forgotten.append(log)

    async def close(self) -> None:
        pass


@dataclass
class Slot:
    """Where the results of one produce go."""

    results: list[ProduceResult] = field(default_factory=list)

    def complete(self, index: int, result: ProduceResult) -> None:
        assert index == 0
        self.results.append(result)

    @property
    def error(self) -> Exception | None:
        assert len(self.results) == 1, f"{len(self.results)} answers"
        return self.results[0].error


class StorageNode:
    def __init__(
        self,
        disk: SimulatedDisk | None = None,
        paths: Sequence[str] = ("/data",),
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.disk = disk or SimulatedDisk()
        self.paths = list(paths)
        self.clock = StandingClock()
        self.options = dict(options or {})
        self.config = BrokerConfig.from_layers([Layer(Source.STATIC_BROKER, self.options, "the test")])
        self.topics: dict[str, TopicImage] = {}

    async def start(self) -> StorageNode:
        """Opens the directories as a start of the process does, and leads every partition."""
        storage = LogStorage(self.disk, self.clock, OpenFiles(self.disk, 64))
        settings = DirectorySettings(self.paths, 1, JournalSize(16 * 4096, 3), Owner("c", NODE_ID))
        self.directories = LogDirectories(storage, settings)
        self.directories.open(resolve_topic_config({}, self.config))
        self.durability = TurnDurability(self.directories)
        self.replicas = Replicas(NODE_ID, self.directories, self.durability, lambda: self.config)
        self.housekeeping = Housekeeping(self.replicas, self.directories, self.clock, lambda: self.config)
        await self.replicas.apply(self.image, MetadataDelta(created=tuple(self.topics.values())))
        return self

    def stop(self) -> None:
        self.replicas.close()
        self.directories.close()

    async def restart(self) -> None:
        """After a kill: the page cache stays, nobody closed anything."""
        self.disk.kill_process()
        await self.start()

    @property
    def image(self) -> ClusterImage:
        return ClusterImage(
            cluster_id="c",
            revision=1,
            controller_id=NODE_ID,
            brokers={NODE_ID: BrokerImage(NODE_ID, "127.0.0.1", 9092)},
            topics=self.topics,
            topics_by_id={topic.topic_id: topic for topic in self.topics.values()},
        )

    async def create(self, name: str, partitions: int = 1, number: int = 0, **config: str) -> None:
        """`number` tells topics of one name apart."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        partition = PartitionImage((NODE_ID,), (NODE_ID,), NODE_ID, 0)
        topic_id = TopicId(f"{name}{number}".encode().ljust(16, b"."))
        topic = TopicImage(name, topic_id, (partition,) * partitions, settings)
        self.topics = {**self.topics, name: topic}
        await self.replicas.apply(self.image, MetadataDelta(created=(topic,)))

    async def delete(self, name: str) -> None:
        topic = self.topics[name]
        self.topics = {key: value for key, value in self.topics.items() if key != name}
        await self.replicas.apply(self.image, MetadataDelta(removed=(topic,)))

    def partition(self, topic: str, index: int = 0) -> Partition:
        return self.replicas.get(topic, index)

    def produce(self, topic: str, *values: bytes, partition: int = 0, time_ms: int | None = None) -> Slot:
        """One batch; the slot has its answer unless the disk is waited for."""
        slot = Slot()
        batch = batch_of(*values, time_ms=self.clock.time_ms if time_ms is None else time_ms)
        led = self.partition(topic, partition)
        led.stage(staged([batch]), slot, 0)
        led.write_staged()
        return slot
