"""Ten thousand clients that said hello and then nothing: what each costs the process, and the kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.clients import idle_connections
from bench.load import clients
from bench.procfs import kernel_memory_bytes, open_files, resident_bytes
from bench.scenario import Figure, Pace, Sample, Scenario, at_most
from bench.sides import Contestant
from bench.topics import make_topic

CONNECTIONS = 10_000
QUICK_CONNECTIONS = 1_000
SETTLE_S = 1.0
KB = 1_000


@dataclass(frozen=True)
class IdleConnections(Scenario):
    """The kernel's share is half of what its structures grew by: the other half is the client's end."""

    name = "connections-10000"
    title = "10,000 idle connections"
    has_warm_up = False
    rounds_at_most = 1
    figures = (
        Figure("memory per connection, with the kernel's", "KB", at_most(10)),
        Figure("memory per connection, of the process", "KB"),
        Figure("connections opened", "1/s"),
        Figure("open files", ""),
    )

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        count = QUICK_CONNECTIONS if pace.is_quick else CONNECTIONS
        with contestant.fresh() as broker:
            broker.start()
            make_topic(broker, 1)  # whatever a first request loads is loaded
            job = idle_connections.IdleConnectionsJob(bootstrap=broker.bootstrap, count=count)
            with clients([(idle_connections, job)]) as (client,):
                process_bytes, kernel_bytes = resident_bytes(broker.pid), kernel_memory_bytes()
                client.go()
                report = client.report()
                time.sleep(SETTLE_S)
                process = (resident_bytes(broker.pid) - process_bytes) / count / KB
                kernel = (kernel_memory_bytes() - kernel_bytes) / 2 / count / KB
                values = {
                    "memory per connection, with the kernel's": process + kernel,
                    "memory per connection, of the process": process,
                    "connections opened": count / report.seconds,
                    "open files": open_files(broker.pid),
                }
        return Sample(values)


def scenarios() -> Iterator[Scenario]:
    yield IdleConnections()
