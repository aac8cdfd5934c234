"""confluent-kafka as people use it: produce() in a loop, or produce() and flush() one message at a time."""

from __future__ import annotations

import os
import time

from confluent_kafka import Producer

from bench.clients.harness import Job, Report, percentiles, serve

QUEUE_MESSAGES = 500_000
POLL_EVERY = 1_000


class ConfluentProducerJob(Job, kw_only=True):
    topic: str
    record_bytes: int
    seconds: float
    acks: str = "all"
    compression: str = "none"
    one_at_a_time: bool = False
    authority_file: str = ""  # whose certificates to believe: through TLS
    most_messages: int = 1 << 62  # ends before its time when so many are sent


class ConfluentProducer:
    def __init__(self, job: ConfluentProducerJob) -> None:
        self._job = job
        self._value = os.urandom(job.record_bytes)
        options: dict[str, str | int | float | bool] = {
            "bootstrap.servers": job.bootstrap,
            "acks": job.acks,
            "compression.type": job.compression,
            "linger.ms": 0 if job.one_at_a_time else 5,
            "queue.buffering.max.messages": QUEUE_MESSAGES,
            "queue.buffering.max.kbytes": 512 * 1024,
        }
        if job.authority_file:
            options |= {"security.protocol": "SSL", "ssl.ca.location": job.authority_file}
        self._producer = Producer(options)
        self._producer.list_topics(job.topic, timeout=30)  # connects

    def run(self) -> Report:
        started = time.monotonic()
        deadline = started + self._job.seconds
        if self._job.one_at_a_time:
            sent, latencies = self._flush_each(deadline)
        else:
            sent, latencies = self._stream(deadline), []
        return Report(
            seconds=time.monotonic() - started,
            requests=sent if self._job.one_at_a_time else 0,
            messages=sent,
            payload_bytes=sent * self._job.record_bytes,
            latencies_ms=percentiles(latencies),
        )

    def _stream(self, deadline: float) -> int:
        produce, poll, topic, value = (
            self._producer.produce,
            self._producer.poll,
            self._job.topic,
            self._value,
        )
        sent, most = 0, self._job.most_messages
        while sent < most and time.monotonic() < deadline:
            for _ in range(POLL_EVERY):
                try:
                    produce(topic, value)
                except BufferError:
                    poll(0.01)
                    break
                sent += 1
            poll(0)
        if left := self._producer.flush(60):
            raise RuntimeError(f"{left} messages were not delivered")
        return sent

    def _flush_each(self, deadline: float) -> tuple[int, list[float]]:
        produce, flush, topic, value = (
            self._producer.produce,
            self._producer.flush,
            self._job.topic,
            self._value,
        )
        sent, latencies, clock = 0, list[float](), time.perf_counter
        while time.monotonic() < deadline:
            before = clock()
            produce(topic, value)
            if flush(30):
                raise RuntimeError("a message was not delivered")
            latencies.append(clock() - before)
            sent += 1
        return sent, latencies


if __name__ == "__main__":
    serve(ConfluentProducerJob, lambda job: ConfluentProducer(job).run)
