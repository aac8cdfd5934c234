"""Java programs for tests and benchmarks, from Maven packages alone.

A folder tests/jvm/<name>/ holds a pom.xml that lists packages and, where a test needs code of its own,
.java files; a `sourceDirectory` in the pom names another folder for them. The first use copies the packages
and compiles the sources into .cache/jvm/<name>/<digest>/, where the digest covers the pom and the sources:
later uses ask neither Maven nor the network, and a changed pom never meets an old package. A lock on a file
makes parallel test workers wait for the one that is at it; the folder appears under its name only when
whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import xml.etree.ElementTree as xml
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

PROJECT = Path(__file__).resolve().parents[2]
POMS = PROJECT / "tests" / "jvm"
CACHE = PROJECT / ".cache" / "jvm"

MAVEN = "{http://maven.apache.org/POM/4.0.0}"
COPY_PACKAGES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
RESOLVE_TIMEOUT_S = 600
COMPILE_TIMEOUT_S = 120
# Short-lived tools start twice as fast without the second compiler.
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


class JvmError(Exception):
    """A JVM package could not be resolved or compiled."""


def java_program(tool: str = "java") -> str:
    """The path of a JDK's tool: JAVA_HOME's where it is set, the search path's otherwise."""
    home = os.environ.get("JAVA_HOME")
    candidate = Path(home, "bin", tool) if home else None
    if candidate is not None and candidate.exists():
        return str(candidate)
    found = shutil.which(tool)
    if found is None:
        raise JvmError(f"{tool} was not found: install a JDK (make toolchains) or set JAVA_HOME")
    return found


def classpath(name: str) -> str:
    """The class path of tests/jvm/<name>, resolved and compiled at the first use."""
    source = POMS / name
    target = CACHE / name / _digest(source)
    if not target.is_dir():
        with _locked(CACHE / f"{name}.lock"):
            if not target.is_dir():
                _build(source, target)
    return os.pathsep.join([f"{target}/classes", f"{target}/packages/*"])


def command(name: str, main_class: str, *args: str, flags: Sequence[str] = QUICK_START) -> list[str]:
    """The command line that runs a class of tests/jvm/<name>."""
    return [java_program(), *flags, "-cp", classpath(name), main_class, *args]


def java(
    name: str,
    main_class: str,
    *args: str,
    flags: Sequence[str] = QUICK_START,
    stdin: str | None = None,
    environ: Mapping[str, str] | None = None,
    timeout_s: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Runs a class to its end and keeps what it said; the exit code is for the caller to judge."""
    return subprocess.run(
        command(name, main_class, *args, flags=flags),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        env=_environment(environ),
        timeout=timeout_s,
        check=False,
    )


def start_java(
    name: str,
    main_class: str,
    *args: str,
    flags: Sequence[str] = QUICK_START,
    environ: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] | None = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = subprocess.PIPE,
    stderr: int | IO[bytes] | None = subprocess.STDOUT,
) -> subprocess.Popen[str]:
    """Starts a class and leaves it running; who starts it ends it."""
    return subprocess.Popen(
        command(name, main_class, *args, flags=flags),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        text=True,
        env=_environment(environ),
    )


def _environment(changes: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, **(changes or {})}


def _digest(source: Path) -> str:
    digest = hashlib.sha256(COPY_PACKAGES.encode())
    for path in (source / "pom.xml", *_java_files(source)):
        digest.update(os.path.relpath(path, source).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _java_files(source: Path) -> list[Path]:
    elsewhere = xml.parse(source / "pom.xml").findtext(f"{MAVEN}build/{MAVEN}sourceDirectory")
    return sorted((source / (elsewhere or ".")).rglob("*.java"))


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(source: Path, target: Path) -> None:
    draft = target.with_name(f"{target.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    packages, classes = draft / "packages", draft / "classes"
    packages.mkdir(parents=True)
    classes.mkdir()
    resolve = ["mvn", "-q", "-B", "-f", str(source / "pom.xml"), COPY_PACKAGES]
    _run([*resolve, f"-DoutputDirectory={packages}", "-DincludeScope=runtime"], RESOLVE_TIMEOUT_S)
    if sources := _java_files(source):
        compiler = [
            java_program("javac"),
            "-nowarn",
            "-proc:none",
            "-d",
            str(classes),
            "-cp",
            f"{packages}/*",
        ]
        _run([*compiler, *map(str, sources)], COMPILE_TIMEOUT_S)
    draft.rename(target)


def _run(arguments: list[str], timeout_s: float) -> None:
    done = subprocess.run(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode != 0:
        raise JvmError(
            f"{' '.join(arguments[:4])} … failed with exit code {done.returncode}:\n{done.stdout[-4000:]}"
        )
