"""confluent-kafka in transactions: begin, produce a number of records, commit, and again."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable

from confluent_kafka import Producer

from bench.clients.harness import Job, Report, percentiles, serve

TIMEOUT_S = 60


class TransactionalProducerJob(Job, kw_only=True):
    topic: str
    partition_count: int
    record_bytes: int
    records: int  # of one transaction
    seconds: float
    most_transactions: int = 1 << 62  # ends before its time when so many are committed


class TransactionalProducer:
    def __init__(self, job: TransactionalProducerJob) -> None:
        self._job = job
        self._value = os.urandom(job.record_bytes)
        self._producer = Producer(
            {
                "bootstrap.servers": job.bootstrap,
                "transactional.id": f"bench-{uuid.uuid4().hex}",
                "linger.ms": 5,
            }
        )
        self._producer.init_transactions(TIMEOUT_S)
        self._transact()  # the topic is known, and connections are made

    def run(self) -> Report:
        started = time.monotonic()
        deadline = started + self._job.seconds
        committed, latencies, clock = 1, list[float](), time.perf_counter
        while committed < self._job.most_transactions and time.monotonic() < deadline:
            latencies.append(self._transact(clock))
            committed += 1
        count = len(latencies)
        return Report(
            seconds=time.monotonic() - started,
            requests=count,
            messages=count * self._job.records,
            payload_bytes=count * self._job.records * self._job.record_bytes,
            latencies_ms=percentiles(latencies),
        )

    def _transact(self, clock: Callable[[], float] = time.perf_counter) -> float:
        """Seconds that the commit took, with the delivery of what was still on its way."""
        producer, topic, value, width = (
            self._producer,
            self._job.topic,
            self._value,
            self._job.partition_count,
        )
        producer.begin_transaction()
        for number in range(self._job.records):
            producer.produce(topic, value, partition=number % width)
        before = clock()
        producer.commit_transaction(TIMEOUT_S)
        return clock() - before


if __name__ == "__main__":
    serve(TransactionalProducerJob, lambda job: TransactionalProducer(job).run)
