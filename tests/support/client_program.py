"""Clients that run in a process of their own, because they are Go or because two versions of one library
cannot share an interpreter.

Such a program plays a scenario: `PROGRAM SCENARIO BOOTSTRAP`, arguments as JSON on standard input, result
as JSON on standard output. All of them know `write` and `read`, with records as `ClientRecord` has them.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.build_cache import PROJECT, built_once, run_build

SCENARIO_TIMEOUT_S = 90
GO_SOURCES = PROJECT / "tests" / "go"
KAFKA_PYTHON_PROGRAM = PROJECT / "tests" / "clients" / "kafka_python_program.py"
KAFKA_PYTHON_2_LOCK = PROJECT / "requirements" / "kafka-python-2.lock"


@dataclass(frozen=True)
class ClientRecord:
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int = -1  # written as the client likes
    partition: int = 0
    offset: int = field(default=-1, compare=False)  # known to readers only

    def to_json(self) -> dict[str, Any]:
        return {
            "key": _hex(self.key),
            "value": _hex(self.value),
            "headers": [{"name": name, "value": _hex(value)} for name, value in self.headers],
            "timestamp_ms": self.timestamp_ms,
            "partition": self.partition,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ClientRecord:
        return cls(
            _unhex(fields["key"]),
            _unhex(fields["value"]),
            tuple((header["name"], _unhex(header["value"])) for header in fields["headers"] or ()),
            fields["timestamp_ms"],
            fields["partition"],
            fields["offset"],
        )


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def _unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@dataclass(frozen=True)
class ClientProgram:
    name: str
    command: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict)

    def play(self, scenario: str, bootstrap: str, **arguments: Any) -> Any:
        """Plays a scenario to its end and gives its result."""
        done = subprocess.run(
            [*self.command, scenario, bootstrap],
            input=json.dumps(arguments),
            capture_output=True,
            text=True,
            env={**os.environ, **self.environ},
            timeout=SCENARIO_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{self.name} {scenario}: {done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return json.loads(done.stdout)

    def write(
        self, bootstrap: str, topic: str, records: Sequence[ClientRecord], codec: str = "none", **more: Any
    ) -> list[int]:
        """Writes records in order; gives the offsets that the broker acknowledged."""
        written = [record.to_json() for record in records]
        offsets: list[int] = self.play("write", bootstrap, topic=topic, codec=codec, records=written, **more)
        return offsets

    def read(self, bootstrap: str, topics: Sequence[str]) -> dict[str, list[ClientRecord]]:
        """Everything that topics hold, each sorted by partition and offset."""
        read = self.play("read", bootstrap, topics=list(topics))
        return {topic: [ClientRecord.from_json(each) for each in read[topic] or ()] for topic in topics}


def kafka_python_3() -> ClientProgram:
    return ClientProgram("kafka-python-3", (sys.executable, str(KAFKA_PYTHON_PROGRAM)))


@functools.cache
def kafka_python_2() -> ClientProgram:
    """The older line, in a folder of its own; the rest comes from the environment of the tests."""

    def install(folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-q"]
        locked = ["--no-deps", "--require-hashes", "-r", str(KAFKA_PYTHON_2_LOCK)]
        run_build([*pip, *locked, "--target", str(folder)])

    folder = built_once("kafka-python-2", [KAFKA_PYTHON_2_LOCK], install)
    return ClientProgram(
        "kafka-python-2", (sys.executable, str(KAFKA_PYTHON_PROGRAM)), {"PYTHONPATH": str(folder)}
    )


@functools.cache
def go_program(name: str) -> ClientProgram:
    """tests/go/<name>, built with the packages that its go.sum pins."""
    sources = GO_SOURCES / name

    def build(folder: Path) -> None:
        environ = {**os.environ, "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"}
        run_build([_go(), "build", "-o", str(folder / name), "."], sources, environ)

    made_of = [path for path in sources.iterdir() if path.suffix in {".go", ".mod", ".sum"}]
    folder = built_once(f"go-{name}", made_of, build)
    return ClientProgram(name, (str(folder / name),))


def _go() -> str:
    """Go from the search path, or the one that `make toolchains` installs beside Python."""
    places = os.pathsep.join(
        [os.environ.get("PATH", ""), str(Path(sys.executable).parent), "/usr/local/go/bin"]
    )
    found = shutil.which("go", path=places)
    if found is None:
        raise RuntimeError("go was not found: run make toolchains")
    return found
