"""Copies a topic into another in transactions, as users of confluent-kafka do, and dies where it is told to.

    exactly_once_copier.py BOOTSTRAP SOURCE TARGET PARTITIONS STEP

It kills itself in its third transaction at STEP: begun, produced, offsets or committed; with "never" it goes
on. Any error ends it too: whoever started it starts it again, and the next one begins where the last commit
was.
"""

from __future__ import annotations

import os
import signal
import sys

from confluent_kafka import OFFSET_STORED, Consumer, Producer, TopicPartition

PATIENCE_S = 15.0
RECORDS_A_TRANSACTION = 25
FATAL_TRANSACTION = 3


def copy(bootstrap: str, source: str, target: str, partitions: int, fatal_step: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"copies-{source}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 50,
            "log_level": 0,
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": f"copies-{source}",
            "transaction.timeout.ms": 10_000,
            "reconnect.backoff.max.ms": 200,
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    producer.init_transactions(PATIENCE_S)  # ends what the one before left open
    consumer.assign([TopicPartition(source, number, OFFSET_STORED) for number in range(partitions)])
    count = 0
    while True:
        messages = consumer.consume(RECORDS_A_TRANSACTION, timeout=0.2)
        if not messages:
            continue
        count += 1

        def step(name: str) -> None:
            if count == FATAL_TRANSACTION and name == fatal_step:  # noqa: B023 - called in this round
                os.kill(os.getpid(), signal.SIGKILL)

        producer.begin_transaction()
        step("begun")
        for message in messages:
            assert message.error() is None, message.error()
            producer.produce(target, message.value(), partition=message.partition())
        assert producer.flush(PATIENCE_S) == 0
        step("produced")
        positions = {
            message.partition(): TopicPartition(source, message.partition(), message.offset() + 1)
            for message in messages
        }
        metadata = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction(list(positions.values()), metadata, PATIENCE_S)
        step("offsets")
        producer.commit_transaction(PATIENCE_S)
        step("committed")


if __name__ == "__main__":
    copy(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
