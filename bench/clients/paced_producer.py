"""confluent-kafka at a fixed rate: each message carries the moment of its produce()."""

from __future__ import annotations

import struct
import time

from confluent_kafka import Producer

from bench.clients.harness import Job, Report, serve

STAMP = struct.Struct(">q")  # CLOCK_MONOTONIC, which all processes of a machine share


class PacedProducerJob(Job, kw_only=True):
    topic: str
    partition_count: int
    record_bytes: int
    per_second: int
    seconds: float


class PacedProducer:
    """The schedule is fixed beforehand: a broker that stalls gets no fewer messages for it."""

    def __init__(self, job: PacedProducerJob) -> None:
        self._job = job
        self._producer = Producer(
            {
                "bootstrap.servers": job.bootstrap,
                "acks": "all",
                "linger.ms": 0,
                "queue.buffering.max.messages": 1_000_000,
            }
        )
        self._producer.list_topics(job.topic, timeout=30)

    def run(self) -> Report:
        job, produce, clock, stamp = self._job, self._producer.produce, time.monotonic_ns, STAMP.pack
        rest, interval_ns = bytes(job.record_bytes - STAMP.size), 1_000_000_000 // job.per_second
        total = int(job.per_second * job.seconds)
        started = due = clock()
        for number in range(total):
            ahead_ns = due - clock()
            if ahead_ns > 0:
                time.sleep(ahead_ns / 1e9)
            produce(job.topic, stamp(clock()) + rest, partition=number % job.partition_count)
            if not number % 100:
                self._producer.poll(0)
            due += interval_ns
        if left := self._producer.flush(60):
            raise RuntimeError(f"{left} messages were not delivered")
        seconds = (clock() - started) / 1e9
        return Report(seconds=seconds, messages=total, payload_bytes=total * job.record_bytes)


if __name__ == "__main__":
    serve(PacedProducerJob, lambda job: PacedProducer(job).run)
