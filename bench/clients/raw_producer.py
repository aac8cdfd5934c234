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
        size = self._first_answer()
        received = size
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
        send(requests[0])
        size, sent, latencies = self._first_answer(), 1, []
        while time.monotonic() < deadline:
            before = clock()
            send(requests[sent % kinds])
            if receive(buffer) != size:
                raise ConnectionError("an answer of unexpected size")
            latencies.append(clock() - before)
            sent += 1
        return sent, latencies

    def _first_answer(self) -> int:
        """The first answer is read with care, all others are counted. Its size, with the frame's."""
        size = int.from_bytes(self._exactly(4), "big")
        _, answer = decode_response(frames.PRODUCE, frames.PRODUCE_VERSION, self._exactly(size))
        assert isinstance(answer, ProduceResponse)
        for topic in answer.responses:
            for partition in topic.partition_responses:
                if partition.error_code:
                    raise RuntimeError(f"produce was refused with error {partition.error_code}")
        return size + 4

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
