"""Reads a topic round and round with ready-made fetch requests, and looks at nothing but the size of the
answers.
"""

from __future__ import annotations

import socket
import time

from bench import frames
from bench.clients.harness import Job, Report, serve


class RawFetcherJob(Job, kw_only=True):
    topic_id_hex: str
    partitions: list[int]
    end_offset: int  # of each of the partitions
    record_bytes: int
    batch_bytes: int
    partition_max_bytes: int
    seconds: float
    depth: int = 2


class RawFetcher:
    """Each request starts where whole batches of the one before ended, which is known beforehand."""

    def __init__(self, job: RawFetcherJob) -> None:
        self._job = job
        per_batch = frames.records_per_batch(job.record_bytes, job.batch_bytes)
        batch = len(frames.ready_batch(job.record_bytes, per_batch))
        whole = job.partition_max_bytes // batch
        step = whole * per_batch
        topic_id = bytes.fromhex(job.topic_id_hex)
        self._requests = [
            frames.fetch_request(topic_id, job.partitions, offset, job.partition_max_bytes)
            for offset in range(0, job.end_offset - step, step)
        ]
        self._messages_per_answer = step * len(job.partitions)
        self._least_bytes = whole * batch * len(job.partitions)
        self._buffer = memoryview(
            bytearray((job.partition_max_bytes + batch) * len(job.partitions) + (1 << 16))
        )
        self._socket = socket.create_connection(job.address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self) -> Report:
        requests, kinds, depth = self._requests, len(self._requests), self._job.depth
        started = time.monotonic()
        deadline = started + self._job.seconds
        sent = answered = total_bytes = 0
        while True:
            while sent - answered < depth and time.monotonic() < deadline:
                self._socket.sendall(requests[sent % kinds])
                sent += 1
            if answered == sent:
                break
            total_bytes += self._receive()
            answered += 1
        return Report(
            seconds=time.monotonic() - started,
            requests=sent,
            messages=sent * self._messages_per_answer,
            payload_bytes=total_bytes,
        )

    def _receive(self) -> int:
        size = int.from_bytes(self._socket.recv(4, socket.MSG_WAITALL), "big")
        if size < self._least_bytes:
            raise RuntimeError(f"an answer of {size} bytes where {self._least_bytes} lie ready")
        if self._socket.recv_into(self._buffer, size, socket.MSG_WAITALL) != size:
            raise ConnectionError("the broker closed the connection")
        return size


if __name__ == "__main__":
    serve(RawFetcherJob, lambda job: RawFetcher(job).run)
