"""One Spark session and one broker for all tests of Spark: a session costs seconds and half a gigabyte.

Both live as long as the test process; the group mark keeps these tests in one of pytest's processes.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic
from tests.support.jvm import classpath

from mainstem.spark.session import open_session

KEEPS_RECORDS = {"retention.ms": "-1"}
NewTopic = Callable[..., str]


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    options = {"offsets.topic.num.partitions": "2", "group.initial.rebalance.delay.ms": "0"}
    with BrokerProcess(tmp_path_factory.mktemp("spark-broker") / "data", options) as process:
        yield process


@pytest.fixture(scope="session")
def bootstrap(broker: BrokerProcess) -> str:
    return broker.bootstrap


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """With Spark's own Kafka connector on board, to be compared with."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    packages = Path(classpath("spark-sql-kafka").split(os.pathsep)[1]).parent
    session = open_session(
        "mainstem-tests",
        master="local[2]",
        conf={
            "spark.jars": ",".join(str(path) for path in sorted(packages.glob("*.jar"))),
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        },
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


_numbers = itertools.count()


@pytest.fixture
def new_name(request: pytest.FixtureRequest) -> Callable[[], str]:
    test = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")[:80]
    return lambda: f"{test}-{next(_numbers)}"


@pytest.fixture
def new_topic(admin: AdminClient, new_name: Callable[[], str]) -> NewTopic:
    def create(partitions: int = 1, config: Mapping[str, str] = KEEPS_RECORDS) -> str:
        return create_topic(admin, new_name(), partitions, config)

    return create
