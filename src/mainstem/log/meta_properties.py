"""`meta.properties`: whose a log directory is, in Kafka's own format.

    version=1
    cluster.id=...      the cluster that its topics belong to
    node.id=1           the node that uses it
    directory.id=...    drawn once, so that a directory is known again under another path

A directory of another cluster or node is not used: its partitions would be taken for ours, or lost.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64encode
from typing import Final

from mainstem.log.errors import LogDirectoryFailed
from mainstem.ports.disk import Disk

FILE_NAME: Final = "meta.properties"
_VERSION: Final = "1"


def read(disk: Disk, directory: str) -> dict[str, str]:
    """What it says; nothing where there is none."""
    try:
        return _parse(disk.read_file(f"{directory}/{FILE_NAME}"))
    except FileNotFoundError:
        return {}


def claim(disk: Disk, directory: str, cluster_id: str, node_id: int) -> None:
    """Raises unless the directory is this node's, or nobody's and therefore from now on this node's."""
    path = f"{directory}/{FILE_NAME}"
    try:
        fields = _parse(disk.read_file(path))
    except FileNotFoundError:
        lines = [
            f"cluster.id={cluster_id}",
            f"directory.id={_random_id()}",
            f"node.id={node_id}",
            f"version={_VERSION}",
            "",
        ]
        disk.replace_file(path, "\n".join(lines).encode())
        return
    for name, expected, cure in (
        ("cluster.id", cluster_id, "start with the metadata.db that belongs to it"),
        ("node.id", str(node_id), "start with the node.id that it was used with"),
    ):
        found = fields.get(name)
        if found is not None and found != expected:
            raise LogDirectoryFailed(
                f"it belongs to {name.partition('.')[0]} {found}, this is {expected}: {cure}, use another "
                f"directory, or remove {FILE_NAME} to take it over"
            )


def _parse(raw: bytes) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in raw.decode("utf-8", "replace").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            fields[name.strip()] = value.strip()
    return fields


def _random_id() -> str:
    while True:
        text = urlsafe_b64encode(secrets.token_bytes(16)).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text
