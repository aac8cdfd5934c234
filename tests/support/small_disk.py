"""A file system of a few megabytes for one broker: in a mount namespace of its own, gone with the process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_MOUNT_AND_RUN = """
mount -t tmpfs -o size="$1" tmpfs "$2"
shift 2
exec "$@"
"""


def wrapper(path: Path, size: str) -> list[str]:
    """The command that mounts an empty file system of this size at `path` and becomes what follows it."""
    path.mkdir(parents=True, exist_ok=True)
    own_users = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *own_users, "--mount", "sh", "-euc", _MOUNT_AND_RUN, "sh", size, str(path)]


def inside(pid: int, path: Path) -> Path:
    """The path as the process sees it, from outside."""
    return Path(f"/proc/{pid}/root{path}")


def take_away(pid: int, path: Path) -> None:
    """Unmounts it under the process: files that are open stay usable, everything else is gone."""
    own_users = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    command = ["nsenter", "--target", str(pid), *own_users, "--mount"]
    subprocess.run([*command, "umount", "--lazy", str(path)], check=True, timeout=10)
