"""Reads numbers, writes twice each, and commits both in one transaction: a program for tests to kill.

    transform_loop.py BOOTSTRAP INPUTS STEP AFTER

INPUTS is how many records each of the two input partitions holds; the program ends when all are done. At
STEP of transaction number AFTER it says so on a line and waits for one.
"""

from __future__ import annotations

import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

STEPS = ("begun", "produced", "flushed", "offsets", "committed")
PARTITIONS = (0, 1)
PATIENCE_S = 60.0
BATCH = 7


class Loop:
    def __init__(self, bootstrap: str, inputs: int, stop: tuple[str, int]) -> None:
        self.inputs = inputs
        self.stop = stop
        self.count = 0
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": "loop",
                "linger.ms": 0,
                "transaction.timeout.ms": 10_000,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "loop",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 50,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self.position: dict[int, int] = {}

    def run(self) -> None:
        self.producer.init_transactions(PATIENCE_S)  # what the one before left open is aborted
        self.rewind()
        while any(position < self.inputs for position in self.position.values()):
            messages = [each for each in self.consumer.consume(BATCH, 0.5) if each.error() is None]
            if not messages:
                continue
            try:
                self.transact(messages)
            except KafkaException as error:
                if error.args[0].fatal() or not error.args[0].txn_requires_abort():
                    raise
                self.producer.abort_transaction(PATIENCE_S)
                self.rewind()
        print("done", flush=True)

    def transact(self, messages: list) -> None:  # type: ignore[type-arg]
        self.producer.begin_transaction()
        self.at("begun")
        next_position = dict(self.position)
        for message in messages:
            partition = message.partition()
            self.producer.produce("out", str(2 * int(message.value())).encode(), partition=partition)
            next_position[partition] = message.offset() + 1
        self.at("produced")
        self.producer.flush(PATIENCE_S)
        self.at("flushed")
        offsets = [TopicPartition("in", partition, offset) for partition, offset in next_position.items()]
        self.producer.send_offsets_to_transaction(
            offsets, self.consumer.consumer_group_metadata(), PATIENCE_S
        )
        self.at("offsets")
        self.commit()
        self.position = next_position
        self.at("committed")
        self.count += 1

    def commit(self) -> None:
        """As long as it may be tried again."""
        while True:
            try:
                self.producer.commit_transaction(PATIENCE_S)
                return
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise

    def rewind(self) -> None:
        asked = [TopicPartition("in", partition) for partition in PARTITIONS]
        committed = self.consumer.committed(asked, PATIENCE_S)
        self.position = {each.partition: max(0, each.offset) for each in committed}
        self.consumer.assign(
            [TopicPartition("in", partition, offset) for partition, offset in self.position.items()]
        )

    def at(self, step: str) -> None:
        if self.stop == (step, self.count):
            print(step, flush=True)
            sys.stdin.readline()


if __name__ == "__main__":
    bootstrap, inputs, step, after = sys.argv[1:]
    Loop(bootstrap, int(inputs), (step, int(after))).run()
