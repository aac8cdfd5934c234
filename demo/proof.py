"""Reads everything back and compares it with what the broker had acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition

from demo.orders import TOPIC, Ledger, number_of


class Proof(NamedTuple):
    records: int
    missing: int  # acknowledged and not where it was promised
    repeated: int  # orders that stand in the log more than once

    @property
    def holds(self) -> bool:
        return self.missing == 0 and self.repeated == 0


def read_back(address: str, ledger: Ledger, on_turn: Callable[[int], None]) -> Proof:
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "proof",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 5,
            "log_level": 0,
        }
    )
    partitions = sorted(consumer.list_topics(TOPIC, 10).topics[TOPIC].partitions)
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in partitions])
    left = sum(
        consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), 10)[1] for partition in partitions
    )
    times_seen = bytearray(len(ledger.offsets))
    confirmed = records = 0
    while records < left:
        for message in consumer.consume(10_000, 1.0):
            if message.error() is not None:
                continue
            number = number_of(message.value())
            times_seen[number] = min(times_seen[number] + 1, 2)
            if (
                ledger.offsets[number] == message.offset()
                and ledger.partitions[number] == message.partition()
            ):
                confirmed += 1
            records += 1
        on_turn(records)
    consumer.close()
    return Proof(records, ledger.acknowledged - confirmed, times_seen.count(2))
