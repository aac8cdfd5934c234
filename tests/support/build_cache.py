"""What tests build from packages and sources of others, once for all workers and all later runs.

The folder's name holds a digest of everything that it is made of, so that nothing old is ever used; a lock
on a file makes parallel workers wait for the one that builds; the folder appears only when it is whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
CACHE = PROJECT / ".cache"
BUILD_TIMEOUT_S = 280


def built_once(name: str, made_of: Iterable[Path], build: Callable[[Path], None]) -> Path:
    """The folder .cache/<name>/<digest>, filled by `build` where it is not there yet."""
    target = CACHE / name / _digest(made_of)
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.parent.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            draft = target.with_suffix(".draft")
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            build(draft)
            draft.rename(target)
    return target


def run_build(
    command: list[str], directory: Path = PROJECT, environ: Mapping[str, str] | None = None
) -> None:
    """Runs a step of a build; what it said is in the error where it fails."""
    done = subprocess.run(
        command,
        cwd=directory,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:4])} … exit code {done.returncode}:\n{done.stdout[-4000:]}")


def _digest(made_of: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(made_of):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
