"""Sends ready-made produce requests over one connection, a few ahead of the answers.

With `depth` 1 it waits for each answer and times it: one produce at a time.
"""

from __future__ import annotations

import socket
import time

from bench import frames
from bench.clients.harness import Job, Report, percentiles, serve
from mainstem.wire.kafka.frames import decode_response
from mainstem.wire.kafka.messages.produce import ProduceResponse

NOT_YET = {3, 5, 6}  # unknown topic or partition, leader not available, not the leader
LEADERS_TIMEOUT_S = 20.0


class RawProducerJob(Job, kw_only=True):
    requests: list[dict[str, list[int]]]  # topic to partitions; sent round and round
    record_bytes: int
    batch_bytes: int  # 0: batches of one record
    seconds: float
    least_requests: int = 0  # goes on after its time until so many are sent
    most_bytes: int = 1 << 62  # ends before its time when so many are sent
    depth: int = 4
    acks: int = -1


class RawProducer:
    def __init__(self, job: RawProducerJob) -> None:
        self._job = job
        self._count = frames.records_per_batch(job.record_bytes, job.batch_bytes) if job.batch_bytes else 1
        batch = frames.ready_batch(job.record_bytes, self._count)
        self._requests = [frames.produce_request(targets, batch, job.acks) for targets in job.requests]
        self._most_requests = job.most_bytes // max(map(len, self._requests))
        self._socket = socket.create_connection(job.address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answer_bytes = self._await_leaders()

    def run(self) -> Report:
        started = time.monotonic()
        if self._job.depth == 1:
            sent, latencies = self._one_at_a_time(started + self._job.seconds)
        else:
            sent, latencies = self._ahead(started + self._job.seconds), []
        seconds = time.monotonic() - started
        widths = [sum(map(len, targets.values())) for targets in self._job.requests]
        batches = sum(widths[number % len(widths)] for number in range(sent))
        return Report(
            seconds=seconds,
            requests=sent,
            messages=batches * self._count,
            payload_bytes=batches * self._count * self._job.record_bytes,
            latencies_ms=percentiles(latencies),
        )

    def _ahead(self, deadline: float) -> int:
        """Requests with equally many partitions get answers of equal size: counting bytes counts answers."""
        requests, send, receive = self._requests, self._socket.sendall, self._socket.recv_into
        least, most = self._job.least_requests, self._most_requests
        kinds, buffer = len(requests), bytearray(1 << 16)
        sent = 0
        while sent < self._job.depth:
            send(requests[sent % kinds])
            sent += 1
        size, received = self._answer_bytes, 0
        while True:
            if sent < least or (sent < most and time.monotonic() < deadline):
                while sent * size - received < self._job.depth * size:
                    send(requests[sent % kinds])
                    sent += 1
            elif received >= sent * size:
                return sent
            count = receive(buffer)
            if count == 0:
                raise ConnectionError("the broker closed the connection")
            received += count

    def _one_at_a_time(self, deadline: float) -> tuple[int, list[float]]:
        requests, send, receive = self._requests, self._socket.sendall, self._socket.recv_into
        kinds, buffer, clock = len(requests), bytearray(1 << 16), time.perf_counter
        size, sent, latencies = self._answer_bytes, 0, []
        while time.monotonic() < deadline:
            before = clock()
            send(requests[sent % kinds])
            if receive(buffer) != size:
                raise ConnectionError("an answer of unexpected size")
            latencies.append(clock() - before)
            sent += 1
        return sent, latencies

    def _await_leaders(self) -> int:
        """Sends the first request until it is taken: a topic may be known before it can be written to.

        The size of its answer, frame and all; from here on answers are only counted.
        """
        deadline = time.monotonic() + LEADERS_TIMEOUT_S
        while True:
            self._socket.sendall(self._requests[0])
            size = int.from_bytes(self._exactly(4), "big")
            _, answer = decode_response(frames.PRODUCE, frames.PRODUCE_VERSION, self._exactly(size))
            assert isinstance(answer, ProduceResponse)
            parts = [part for topic in answer.responses for part in topic.partition_responses]
            errors = {part.error_code for part in parts if part.error_code}
            if not errors:
                return size + 4
            if errors - NOT_YET or time.monotonic() > deadline:
                raise RuntimeError(f"produce was refused with error {max(errors)}")
            time.sleep(0.05)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            data += piece
        return bytes(data)


if __name__ == "__main__":
    serve(RawProducerJob, lambda job: RawProducer(job).run)
