"""What every client process does: read its job, get ready, wait for the word, run, report.

    parent                          client
      | starts it, JOB as argument -->|  connects, builds its requests
      |<------------------------ ready |
      | reads everybody's CPU          |
      | go ---------------------------->|  runs
      |<----------------------- report |
      | reads everybody's CPU again    |
      | closes its standard input ---->|  ends

Standard output carries these lines and nothing else. A client that fails says why on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import msgspec

READY = "ready"
GO = "go"


class Job(msgspec.Struct, kw_only=True):
    """What all clients must know."""

    bootstrap: str

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.bootstrap.rpartition(":")
        return host, int(port)


class Report(msgspec.Struct, kw_only=True):
    """What a client did between go and the end."""

    seconds: float = 0.0
    requests: int = 0
    messages: int = 0
    payload_bytes: int = 0
    latencies_ms: dict[str, float] = msgspec.field(default_factory=dict)


J = TypeVar("J", bound=Job)


def serve(job_type: type[J], prepare: Callable[[J], Callable[[], Report]]) -> None:
    """`prepare` does what is not to be measured and returns what is."""
    job = msgspec.json.decode(sys.argv[1], type=job_type)
    run = prepare(job)
    _say(READY)
    if sys.stdin.readline().strip() != GO:
        return
    _say(msgspec.json.encode(run()).decode())
    sys.stdin.readline()


def percentiles(latencies_s: list[float]) -> dict[str, float]:
    """Milliseconds at p50, p99 and p99.9, and the worst."""
    if not latencies_s:
        return {}
    ordered = sorted(latencies_s)
    last = len(ordered) - 1
    picks = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
    return {name: ordered[min(last, int(share * len(ordered)))] * 1000 for name, share in picks.items()}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
