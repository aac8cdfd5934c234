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


def test_word_count_exactly_once_over_kills(start_broker: StartBroker, tmp_path: Path) -> None:
    """The application is killed in the middle of its work, and then the broker is: no word counts twice."""
    broker = start_broker()
    bootstrap, state = broker.bootstrap, tmp_path / "state"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for topic in ("lines", "counts"):
        create_topic(admin, topic, 2)

    def tell(rounds: int) -> None:
        records = [{"value": line, "partition": number % 2} for number, line in enumerate(LINES)]
        produce_all(bootstrap, "lines", records * rounds)

    def wait_for(rounds: int, application: JavaApplication) -> None:
        told: dict[str, int] = {}

        def is_complete() -> bool:
            told.update(counted(bootstrap))
            return told == expected(rounds)

        try:  # a member that is lost in a rebalance is missed for its whole session, 45 s
            eventually(is_complete, f"the counts of {rounds} rounds", patience_s=100, pause_s=0.2)
        except AssertionError as error:
            said = "\n".join(application.lines[-60:])
            raise AssertionError(f"{error}; told {told} of {expected(rounds)}; it says\n{said}") from None

    tell(10)
    with start(bootstrap, "exactly_once_v2", state) as application:
        wait_for(10, application)
        tell(200)
        eventually(lambda: sum(dict(counted(bootstrap)).values()) > 11 * len(expected(1)), "it to go on")
        application.kill()
    with start(bootstrap, "exactly_once_v2", state) as application:
        wait_for(210, application)
        broker.kill()
        broker.start()
        tell(10)
        wait_for(220, application)
        assert application.end_input() == 0, "\n".join(application.lines[-40:])
    told = counted(bootstrap)
    for word, total in expected(220).items():
        assert [count for each, count in told if each == word] == list(range(1, total + 1))
