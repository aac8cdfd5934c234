"""kcat (librdkafka's command line tool) as tests run it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from tests.support.client_program import ClientRecord

TIMEOUT_S = 60
QUICK = ("-X", "fetch.wait.max.ms=100")


def kcat(bootstrap: str, *words: str, stdin: bytes = b"") -> bytes:
    """Runs kcat to its end; gives what it printed."""
    done = subprocess.run(
        ["kcat", "-b", bootstrap, *words], input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"kcat {' '.join(words)}: {done.stderr.decode(errors='replace')}"
    return done.stdout


def metadata(bootstrap: str, topic: str = "", *words: str) -> dict[str, Any]:
    chosen = ["-t", topic] if topic else []
    answer: dict[str, Any] = json.loads(kcat(bootstrap, "-L", "-J", *chosen, *words))
    return answer


def read_json(bootstrap: str, topic: str, *words: str) -> list[dict[str, Any]]:
    """What a topic holds, up to its end, as kcat's JSON envelopes."""
    printed = kcat(bootstrap, "-C", "-q", "-e", "-J", *QUICK, "-t", topic, *words)
    return [json.loads(line) for line in printed.splitlines()]


def read(bootstrap: str, topics: Sequence[str]) -> dict[str, list[ClientRecord]]:
    """Everything that topics hold; kcat's JSON shows text only, so keys and values must be text."""
    return {
        topic: sorted(
            (_record(each) for each in read_json(bootstrap, topic)), key=lambda r: (r.partition, r.offset)
        )
        for topic in topics
    }


def _record(envelope: dict[str, Any]) -> ClientRecord:
    names_and_values = envelope.get("headers", [])
    return ClientRecord(
        _bytes(envelope["key"]),
        _bytes(envelope["payload"]),
        tuple(
            (name, _bytes(value))
            for name, value in zip(names_and_values[::2], names_and_values[1::2], strict=True)
        ),
        envelope["ts"],
        envelope["partition"],
        envelope["offset"],
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
