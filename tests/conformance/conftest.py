"""What the conformance tests share: brokers and names.

A test asks for `bootstrap` where any broker will do: one runs per worker for the whole session, so such
a test pays milliseconds for it, and must use names of its own (`new_topic`, `new_group`) and leave the
broker's own configuration as it was. A test that stops, kills or specially configures its broker asks
for `start_broker`.

To see whether a test is right about Kafka, run it against a real one:

    MAINSTEM_TEST_PEER_BOOTSTRAP=127.0.0.1:9092 pytest tests/conformance

points `bootstrap` there (start that Kafka with `group.initial.rebalance.delay.ms=0` and
`group.min.session.timeout.ms=500`, as below). Tests with `start_broker` start ours all the same.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from confluent_kafka.admin import AdminClient
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic

PEER_VARIABLE = "MAINSTEM_TEST_PEER_BOOTSTRAP"

# Groups form at once and notice a dead member soon.
QUICK_GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "500",
        "offsets.topic.num.partitions": "5",
    }
)

KEEPS_RECORDS: Mapping[str, str] = MappingProxyType({"retention.ms": "-1"})

StartBroker = Callable[..., BrokerProcess]
NewName = Callable[..., str]


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of the broker that the tests of this worker share."""
    if PEER_VARIABLE in os.environ:
        yield os.environ[PEER_VARIABLE]
        return
    broker = BrokerProcess(tmp_path_factory.mktemp("shared-broker") / "data", QUICK_GROUPS).start()
    try:
        yield broker.bootstrap
    finally:
        exit_code = broker.stop()
    assert exit_code == 0, broker.log_text()[-4000:]


@pytest.fixture
def start_broker(tmp_path: Path) -> Iterator[StartBroker]:
    """Starts brokers that belong to one test: `start_broker({"num.partitions": "3"})`."""
    brokers: list[BrokerProcess] = []

    def start(options: Mapping[str, str] = MappingProxyType({})) -> BrokerProcess:
        broker = BrokerProcess(tmp_path / f"broker-{len(brokers)}", {**QUICK_GROUPS, **options})
        brokers.append(broker)
        return broker.start()

    yield start
    for broker in brokers:
        broker.kill()


@pytest.fixture(scope="session")
def admin(bootstrap: str) -> AdminClient:
    """librdkafka's admin client on the shared broker."""
    return AdminClient({"bootstrap.servers": bootstrap})


_numbers = itertools.count()


@pytest.fixture
def new_name(request: pytest.FixtureRequest) -> NewName:
    """Makes names that no other test and no other run uses, and that say whose they are."""
    test = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")[:80]

    def name(suffix: str = "") -> str:
        return "-".join(filter(None, (test, suffix, f"{os.getpid()}", f"{next(_numbers)}")))

    return name


@pytest.fixture
def new_group(new_name: NewName) -> NewName:
    return new_name


@pytest.fixture
def new_topic(admin: AdminClient, new_name: NewName) -> NewName:
    """Creates a topic on the shared broker: `new_topic(3, {"cleanup.policy": "compact"})`.

    Without a configuration it keeps its records for ever, for tests write old time stamps.
    """

    def create(partitions: int = 1, config: Mapping[str, str] = KEEPS_RECORDS, suffix: str = "") -> str:
        return create_topic(admin, new_name(suffix), partitions, config)

    return create
