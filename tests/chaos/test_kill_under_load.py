"""kill -9 of the broker, again and again, while an idempotent producer writes with acks=all."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.support.broker_process import BrokerProcess
from tests.support.ledger import LedgerProducer, check_ledger

PARTITIONS = 4


def run_kills(tmp_path: Path, kills: int, topic_config: dict[str, str], seed: int) -> None:
    chance = random.Random(seed)
    broker = BrokerProcess(tmp_path / "data", {"log.level": "warning"}).start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    new = NewTopic("ledger", PARTITIONS, 1, config={"segment.bytes": "1048576", **topic_config})
    for created in admin.create_topics([new]).values():
        created.result(20)
    producer = LedgerProducer(broker.bootstrap, "ledger", PARTITIONS)
    producer.start()
    try:
        for _ in range(kills):
            producer.wait_for_more(chance.randint(500, 8_000))
            time.sleep(chance.random() * 0.05)
            broker.kill()
            broker.start()
        producer.wait_for_more(2_000)
    finally:
        producer.stop()
    assert not producer.failures
    check_ledger(broker.bootstrap, producer)
    assert broker.stop() == 0
    broker.start()  # and after a clean stop
    check_ledger(broker.bootstrap, producer)
    broker.stop()


@pytest.mark.parametrize(
    "topic_config",
    [{"acks.after": "page-cache"}, {"acks.after": "disk"}],
    ids=["page-cache", "disk"],
)
def test_nothing_acknowledged_is_lost_doubled_or_reordered(
    tmp_path: Path, topic_config: dict[str, str]
) -> None:
    run_kills(tmp_path, 6, topic_config, seed=11)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_the_same_for_long(tmp_path: Path, seed: int) -> None:
    run_kills(tmp_path, 20, {"acks.after": random.Random(seed).choice(["page-cache", "disk"])}, seed)
