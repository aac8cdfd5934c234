"""The public keys that tokens are signed with: a JWKS document, read again in time.

    read at the start      the broker does not start without its keys
    grows old              after the refresh interval the next token has it read again, in the background
    an unknown key's id    has it read at once, and the token waits; but not sooner after the last reading
                           than an interval, so that made-up ids cannot have it read all the time
    a reading that fails   leaves the old keys in force; the time to the next one doubles up to a limit

One reading at a time, in a thread; who needs it waits for the same one.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mainstem.core.identity.errors import KeysUnavailable
from mainstem.model.errors import MainstemError
from mainstem.ports.clock import Clock

if TYPE_CHECKING:
    from jwt import PyJWK

_LOG = logging.getLogger(__name__)
MAX_KEYS: Final = 100
_OF_RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})

Fetch = Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class KeySetTimes:
    refresh_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int


class SigningKey(NamedTuple):
    key: Any  # as the library holds it
    algorithms: frozenset[str]


class KeySet:
    def __init__(self, name: str, fetch: Fetch, clock: Clock, times: KeySetTimes) -> None:
        """`fetch` blocks: it is called in a thread."""
        self.readings = 0
        self.failed_readings = 0
        self._name = name
        self._fetch = fetch
        self._clock = clock
        self._times = times
        self._keys: Mapping[str, SigningKey] = {}
        self._read_ms = 0.0
        self._next_ms = 0.0  # not sooner
        self._failures = 0
        self._reading: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """The first reading. Raises `KeysUnavailable`."""
        await self._read()

    async def find(self, key_id: str | None) -> SigningKey | None:
        """The key of this id; without an id the only one that there is."""
        if self._clock.monotonic_ms() - self._read_ms >= self._times.refresh_ms:
            self._begin_reading()
        found = self._known(key_id)
        if found is None and key_id is not None and self._begin_reading():
            assert self._reading is not None
            await asyncio.shield(self._reading)
            found = self._known(key_id)
        return found

    async def close(self) -> None:
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)

    def _known(self, key_id: str | None) -> SigningKey | None:
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)

    def _begin_reading(self) -> bool:
        """Whether one is under way now."""
        if self._reading is not None:
            return True
        if self._clock.monotonic_ms() < self._next_ms:
            return False
        self._reading = asyncio.get_running_loop().create_task(self._read_again())
        return True

    async def _read_again(self) -> None:
        try:
            await self._read()
        except KeysUnavailable as error:
            self.failed_readings += 1
            self._failures += 1
            wait_ms = self._times.retry_backoff_ms << min(self._failures - 1, 20)
            self._next_ms = self._clock.monotonic_ms() + min(wait_ms, self._times.retry_backoff_max_ms)
            _LOG.warning("the keys of tokens stay as they were: %s", error)
        finally:
            self._reading = None

    async def _read(self) -> None:
        try:
            self._keys = await asyncio.to_thread(self._fetch_keys)
        except MainstemError as error:
            raise KeysUnavailable(str(error)) from error
        self.readings += 1
        self._failures = 0
        self._read_ms = self._clock.monotonic_ms()
        self._next_ms = self._read_ms + self._times.retry_backoff_max_ms

    def _fetch_keys(self) -> Mapping[str, SigningKey]:
        return parse_key_set(self._name, self._fetch())


def _algorithms(entry: dict[str, Any], key: PyJWK) -> frozenset[str]:
    """Those that the key is for. An RSA key that names none may have signed with any that RSA has."""
    if "alg" not in entry and entry.get("kty") == "RSA":
        return _OF_RSA
    return frozenset({key.algorithm_name})


def parse_key_set(name: str, data: bytes) -> dict[str, SigningKey]:
    """The keys that a token could be signed with; others are passed over."""
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError

    try:
        document: Any = json.loads(data)
        listed = document["keys"]
        if not isinstance(listed, list) or len(listed) > MAX_KEYS:
            raise ValueError(f"keys is no list of at most {MAX_KEYS}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise KeysUnavailable(f"{name} is no JWKS document: {error}") from error
    keys: dict[str, SigningKey] = {}
    for number, entry in enumerate(listed):
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or entry.get("kty") == "oct":
            continue  # a shared secret is no public key
        try:
            key = PyJWK.from_dict(entry)
        except (PyJWTError, ValueError, KeyError, TypeError) as error:
            _LOG.warning("%s: a key is passed over: %s", name, error)
            continue
        keys[key.key_id or f"#{number}"] = SigningKey(key.key, _algorithms(entry, key))
    if not keys:
        raise KeysUnavailable(f"{name} holds no public key for signatures")
    return keys
