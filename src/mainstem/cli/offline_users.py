"""Adds a user to the data directory of a broker that does not run: how the first one comes to be.

The same file and the same change as a running broker would write; its lock on the directory makes sure that
none runs.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from mainstem.cluster import keys
from mainstem.cluster.entries import encode_user
from mainstem.cluster.membership import ensure_cluster_id
from mainstem.cluster.sqlite_store import open_sqlite_store
from mainstem.cluster.store import Compare, Put
from mainstem.core.identity.credentials import (
    SALT_BYTES,
    ScramCredential,
    check_user_name,
    mechanism_named,
    new_credential,
)
from mainstem.model.errors import BrokerError, PeerError
from mainstem.ports.clock import LoopClock
from mainstem.ports.disk import RealDisk


class DirectoryInUse(BrokerError):
    """A broker runs on the data directory."""


class UserExists(PeerError):
    pass


def add_offline(data_dir: Path, name: str, password: str, mechanisms: Sequence[str], iterations: int) -> None:
    check_user_name(name)
    credentials = {
        each: new_credential(mechanism_named(each), password, os.urandom(SALT_BYTES), iterations)
        for each in mechanisms
    }
    try:
        lock = RealDisk().lock(str(data_dir / ".lock"))
    except BlockingIOError as error:
        raise DirectoryInUse(
            f"a broker runs on {data_dir}: add the user through it, without --offline, or stop it"
        ) from error
    try:
        asyncio.run(_put(data_dir, name, credentials))
    finally:
        lock.release()


async def _put(data_dir: Path, name: str, credentials: dict[str, ScramCredential]) -> None:
    store = await open_sqlite_store(str(data_dir / "metadata.db"), LoopClock(asyncio.get_running_loop()))
    try:
        await ensure_cluster_id(store)
        key = keys.user_key(name)
        done = await store.transact([Compare(key, exists=False)], [Put(key, encode_user(credentials))])
        if not done.succeeded:
            raise UserExists(f"there is a user {name}: start the broker and use `mainstem user passwd`")
    finally:
        await store.close()
