"""Reads what paced_producer sends and takes the time from produce() to poll()."""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from bench.clients.harness import Job, Report, percentiles, serve
from bench.clients.paced_producer import STAMP

SILENCE_S = 20.0


class PacedConsumerJob(Job, kw_only=True):
    topic: str
    partition_count: int
    messages: int
    unmeasured: int  # of the first messages


class PacedConsumer:
    def __init__(self, job: PacedConsumerJob) -> None:
        self._job = job
        self._consumer = Consumer(
            {"bootstrap.servers": job.bootstrap, "group.id": "bench", "enable.auto.commit": False}
        )
        self._consumer.assign(
            [TopicPartition(job.topic, index, OFFSET_END) for index in range(job.partition_count)]
        )
        # The end is looked up when polling begins: whatever is sent after two silent seconds is seen.
        self._consumer.poll(2.0)

    def run(self) -> Report:
        poll, clock, unpack = self._consumer.poll, time.monotonic_ns, STAMP.unpack_from
        latencies: list[float] = []
        started = heard = clock()
        while len(latencies) < self._job.messages:
            message = poll(0.5)
            now = clock()
            if message is None:
                if now - heard > SILENCE_S * 1e9:
                    raise RuntimeError(f"{len(latencies)} of {self._job.messages} messages came")
                continue
            value = message.value()
            if value is None:
                raise RuntimeError(f"reading failed: {message.error()}")
            latencies.append((now - unpack(value)[0]) / 1e9)
            heard = now
        seconds = (clock() - started) / 1e9
        measured = latencies[self._job.unmeasured :]
        return Report(seconds=seconds, messages=len(latencies), latencies_ms=percentiles(measured))


if __name__ == "__main__":
    serve(PacedConsumerJob, lambda job: PacedConsumer(job).run)
