"""Kafka: streams group topology. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class StreamsGroupTopologyKey(Message):
    group_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        versions="0",
        key=23,
    )


class TopicConfig(Message):
    key: str = ""
    value: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("key", "string", "0+"),
        Field("value", "string", "0+"),
    )


class TopicInfo(Message):
    name: str = ""
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: list[TopicConfig] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "int32", "0+"),
        Field("replication_factor", "int16", "0+"),
        Field("topic_configs", "[]struct", "0+", of=TopicConfig),
    )


class CopartitionGroup(Message):
    source_topics: list[int] = field(default_factory=list)
    source_topic_regex: list[int] = field(default_factory=list)
    repartition_source_topics: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("source_topics", "[]int16", "0+"),
        Field("source_topic_regex", "[]int16", "0+"),
        Field("repartition_source_topics", "[]int16", "0+"),
    )


class Subtopology(Message):
    subtopology_id: str = ""
    source_topics: list[str] = field(default_factory=list)
    source_topic_regex: list[str] = field(default_factory=list)
    state_changelog_topics: list[TopicInfo] = field(default_factory=list)
    repartition_sink_topics: list[str] = field(default_factory=list)
    repartition_source_topics: list[TopicInfo] = field(default_factory=list)
    copartition_groups: list[CopartitionGroup] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("subtopology_id", "string", "0+"),
        Field("source_topics", "[]string", "0+"),
        Field("source_topic_regex", "[]string", "0+"),
        Field("state_changelog_topics", "[]struct", "0+", of=TopicInfo),
        Field("repartition_sink_topics", "[]string", "0+"),
        Field("repartition_source_topics", "[]struct", "0+", of=TopicInfo),
        Field("copartition_groups", "[]struct", "0+", of=CopartitionGroup),
    )


class StreamsGroupTopologyValue(Message):
    epoch: int = 0
    subtopologies: list[Subtopology] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("epoch", "int32", "0+"),
        Field("subtopologies", "[]struct", "0+", of=Subtopology),
        versions="0",
        flexible="0+",
        key=23,
    )
