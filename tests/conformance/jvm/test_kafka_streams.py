"""A Kafka Streams application counts words on our topics: repartitioning, changelogs, restored state."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.conformance.conftest import StartBroker
from tests.support.confluent import create_topic, produce_all, read_topic
from tests.support.deadline import eventually
from tests.support.java_application import JavaApplication

pytestmark = pytest.mark.xdist_group("kafka-streams")

LINES = ["the quick brown fox", "jumps over the lazy dog", "the end"]
APPLICATION = "counter"


def start(bootstrap: str, guarantee: str, state: Path) -> JavaApplication:
    arguments = (bootstrap, APPLICATION, "lines", "counts", guarantee, str(state))
    return JavaApplication("kafka-streams", "mainstem.checks.WordCount", *arguments)


def counted(bootstrap: str) -> list[tuple[str, int]]:
    """Every count that was told, in order for each word."""
    messages = read_topic(bootstrap, "counts", {"isolation.level": "read_committed"})
    return [(message.key().decode(), int.from_bytes(message.value(), "big")) for message in messages]


def expected(rounds: int) -> Counter[str]:
    return Counter(word for line in LINES * rounds for word in line.split())


def test_word_count_at_least_once_over_a_restart(start_broker: StartBroker, tmp_path: Path) -> None:
    bootstrap = start_broker().bootstrap
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for topic in ("lines", "counts"):
        create_topic(admin, topic, 2)

    def tell(rounds: int) -> None:
        records = [{"value": line, "partition": number % 2} for number, line in enumerate(LINES)]
        produce_all(bootstrap, "lines", records * rounds)

    with start(bootstrap, "at_least_once", tmp_path / "first") as application:
        tell(10)
        application.says("running")
        eventually(
            lambda: dict(counted(bootstrap)) == expected(10), "the first counts", patience_s=60, pause_s=0.2
        )
        assert application.end_input() == 0, "\n".join(application.lines[-40:])
    tell(5)
    with start(bootstrap, "at_least_once", tmp_path / "elsewhere") as application:
        # its state is gone: it comes back from the changelog, which is compacted
        eventually(
            lambda: dict(counted(bootstrap)) == expected(15),
            "the counts to go on",
            patience_s=60,
            pause_s=0.2,
        )
        assert application.end_input() == 0, "\n".join(application.lines[-40:])

    told = counted(bootstrap)
    for word, total in expected(15).items():
        assert [count for each, count in told if each == word] == list(range(1, total + 1))
    topics = admin.list_topics(timeout=10).topics
    assert {f"{APPLICATION}-counts-changelog", f"{APPLICATION}-counts-repartition"} <= set(topics)
