"""Opens many connections, introduces itself on each, and then does nothing with them."""

from __future__ import annotations

import socket
import time

from bench import frames
from bench.clients.harness import Job, Report, serve


class IdleConnectionsJob(Job, kw_only=True):
    count: int


class IdleConnections:
    def __init__(self, job: IdleConnectionsJob) -> None:
        self._job = job
        self._open: list[socket.socket] = []

    def run(self) -> Report:
        started = time.monotonic()
        hello = frames.introduction()
        for _ in range(self._job.count):
            connection = socket.create_connection(self._job.address, timeout=30)
            connection.sendall(hello)
            size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
            if len(connection.recv(size, socket.MSG_WAITALL)) != size or size == 0:
                raise ConnectionError(f"connection {len(self._open) + 1} was closed")
            self._open.append(connection)
        return Report(seconds=time.monotonic() - started, requests=len(self._open))


if __name__ == "__main__":
    serve(IdleConnectionsJob, lambda job: IdleConnections(job).run)
