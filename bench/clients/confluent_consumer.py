"""confluent-kafka's consume() over everything that a topic holds, some times over, without a group."""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from bench.clients.harness import Job, Report, serve

MOST_AT_ONCE = 10_000
SILENCE_S = 20.0


class ConfluentConsumerJob(Job, kw_only=True):
    topic: str
    partition_count: int
    messages: int  # of the whole topic
    passes: int = 1
    isolation: str = "read_committed"  # librdkafka's own default


class ConfluentConsumer:
    def __init__(self, job: ConfluentConsumerJob) -> None:
        self._job = job
        # With librdkafka's own back-off (1 s) small messages starve: see its fetch.queue.backoff.ms.
        self._consumer = Consumer(
            {
                "bootstrap.servers": job.bootstrap,
                "group.id": "bench",
                "enable.auto.commit": False,
                "fetch.queue.backoff.ms": 5,
                "isolation.level": job.isolation,
            }
        )
        self._consumer.list_topics(job.topic, timeout=30)

    def run(self) -> Report:
        started = time.monotonic()
        count = size = 0
        for _ in range(self._job.passes):
            more_count, more_size = self._read_all()
            count, size = count + more_count, size + more_size
        seconds = time.monotonic() - started
        return Report(seconds=seconds, messages=count, payload_bytes=size)

    def _read_all(self) -> tuple[int, int]:
        partitions = range(self._job.partition_count)
        self._consumer.assign(
            [TopicPartition(self._job.topic, index, OFFSET_BEGINNING) for index in partitions]
        )
        count = size = 0
        heard = time.monotonic()
        while count < self._job.messages:
            messages = self._consumer.consume(MOST_AT_ONCE, timeout=0.2)
            for message in messages:
                value = message.value()
                if value is None:
                    raise RuntimeError(f"reading failed: {message.error()}")
            if messages:
                count, size = count + len(messages), size + len(messages) * len(messages[0])
                heard = time.monotonic()
            elif time.monotonic() - heard > SILENCE_S:
                raise RuntimeError(f"nothing came for {SILENCE_S:.0f} s after {count} messages")
        return count, size


if __name__ == "__main__":
    serve(ConfluentConsumerJob, lambda job: ConfluentConsumer(job).run)
