"""An idempotent producer whose every acknowledgement is written down, and the proof that they all held."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from mainstem.model.ids import TopicPartition as Place


class LedgerProducer:
    """Writes numbers to all partitions of a topic from a thread of its own until it is told to stop.

    Number n goes to partition n % partitions, so in each partition the numbers must rise.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, *, padding_bytes: int = 100) -> None:
        self.topic = topic
        self.partitions = partitions
        self.acknowledged: dict[int, Place] = {}
        self.offsets: dict[int, int] = {}
        self.failures: list[str] = []
        self.sent = 0
        self._padding = b"." * padding_bytes
        self._is_stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                "message.timeout.ms": 120_000,
                "reconnect.backoff.max.ms": 200,
                "queue.buffering.max.messages": 20_000,
                "log_level": 0,
                "error_cb": lambda _error: None,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Waits until every number was acknowledged or given up."""
        self._is_stopping.set()
        self._thread.join(180)
        assert not self._thread.is_alive()

    def wait_for_more(self, count: int, timeout_s: float = 60.0) -> None:
        goal = len(self.acknowledged) + count
        deadline = time.monotonic() + timeout_s
        while len(self.acknowledged) < goal:
            assert time.monotonic() < deadline, f"{len(self.acknowledged)} of {goal} acknowledged"
            time.sleep(0.005)

    def _run(self) -> None:
        number = 0
        while not self._is_stopping.is_set():
            value = b"%d %s" % (number, self._padding)
            try:
                self._producer.produce(
                    self.topic, value, partition=number % self.partitions, on_delivery=self._noted(number)
                )
            except BufferError:
                self._producer.poll(0.05)
                continue
            number += 1
            self.sent = number
            self._producer.poll(0)
        self._producer.flush(120)

    def _noted(self, number: int) -> Any:
        def note(error: Any, message: Any) -> None:
            if error is not None:
                self.failures.append(str(error))
            else:
                self.acknowledged[number] = Place(message.topic(), message.partition())
                self.offsets[number] = message.offset()

        return note


def numbers_in(bootstrap: str, topic: str, partitions: int) -> dict[int, list[int]]:
    """The numbers of every partition, in the order of the log; the index of a number is its offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "ledger",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 5,
        }
    )
    ends = {
        partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), 20)[1]
        for partition in range(partitions)
    }
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    found: dict[int, list[int]] = defaultdict(list)
    deadline = time.monotonic() + 60
    while sum(map(len, found.values())) < sum(ends.values()):
        assert time.monotonic() < deadline, "the log could not be read to its end"
        for message in consumer.consume(10_000, 1.0):
            assert message.error() is None
            numbers = found[message.partition()]
            assert message.offset() == len(numbers)
            numbers.append(int(message.value().split(b" ", 1)[0]))
    consumer.close()
    return found


def check_ledger(bootstrap: str, producer: LedgerProducer) -> None:
    """Nothing acknowledged is lost, doubled or out of order."""
    found = numbers_in(bootstrap, producer.topic, producer.partitions)
    for partition, numbers in found.items():
        assert numbers == sorted(set(numbers)), f"partition {partition} repeats or reorders"
    for number, place in producer.acknowledged.items():
        offset = producer.offsets[number]
        numbers = found[place.partition]
        assert offset < len(numbers), f"number {number} was acknowledged at {place}@{offset} and is lost"
        assert numbers[offset] == number
