"""What a TLS listener shows and whom it believes: read from PEM files, read again when they change.

A context is made whole from the files and then put in the place of the one before; connections that are
there keep theirs. Files that do not go together (a new certificate whose key is not there yet) leave the
old context in force, and are looked at again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mainstem.model.errors import BrokerError
from mainstem.ports.clock import Clock, TimerHandle

_LOG = logging.getLogger(__name__)

_VERIFY: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


class CertificateUnusable(BrokerError):
    """A file of `ssl.*` cannot be used; `cure` says what to do."""

    def __init__(self, problem: str, cure: str) -> None:
        super().__init__(f"{problem}; {cure}")
        self.statement = problem
        self.cure = cure


@dataclass(frozen=True, slots=True)
class TlsFiles:
    certificate: str  # with the chain
    key: str
    trusted: str | None  # whose clients are believed
    password: str | None = None
    client_auth: str = "none"
    versions: Sequence[str] = ("TLSv1.2", "TLSv1.3")

    def __repr__(self) -> str:
        return f"TlsFiles({self.certificate!r})"


_Signature = tuple[tuple[int, int, int] | None, ...]


class Certificates:
    """The context of now. Loading reads files: not for the loop, after the start."""

    def __init__(self, listener: str, files: TlsFiles) -> None:
        self.listener = listener
        self.expires_at_s: float | None = None  # of the server's own certificate, since 1970
        self.reloads = 0
        self.failed_reloads = 0
        self._files = files
        self._signature = self._sign()
        self._refused: _Signature | None = None  # what was found unusable, and told, already
        self.context = self._load()

    def reload(self, *, is_forced: bool = False) -> bool:
        """Reads the files if they changed. What cannot be used is told once, and the old stays in force."""
        signature = self._sign()
        if not is_forced and signature in (self._signature, self._refused):
            return False
        try:
            context = self._load()
        except CertificateUnusable as error:
            self._refused = signature
            self.failed_reloads += 1
            _LOG.error("listener %s keeps its present certificate: %s", self.listener, error)
            return False
        self.context, self._signature, self._refused = context, signature, None
        self.reloads += 1
        _LOG.info("listener %s has read its certificate anew: %s", self.listener, self._files.certificate)
        return True

    def _sign(self) -> _Signature:
        files = self._files
        return tuple(_stamp(path) for path in (files.certificate, files.key, files.trusted) if path)

    def _load(self) -> ssl.SSLContext:
        files = self._files
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        spoken = [_VERSIONS[name] for name in files.versions]
        context.minimum_version, context.maximum_version = min(spoken), max(spoken)
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
        context.verify_mode = _VERIFY[files.client_auth]
        _check_readable(files.certificate, "ssl.keystore.location")
        _check_readable(files.key, "ssl.keystore.key.location")
        try:
            # Without a password OpenSSL would ask the terminal for one.
            context.load_cert_chain(files.certificate, files.key, password=lambda: files.password or "")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise _unusable_pair(files, error) from error
        if files.trusted is not None and files.client_auth != "none":
            _check_readable(files.trusted, "ssl.truststore.location")
            try:
                context.load_verify_locations(files.trusted)
            except (ssl.SSLError, OSError) as error:
                raise CertificateUnusable(
                    f"{files.trusted} (ssl.truststore.location) holds no certificates in PEM",
                    "name a file with the certificates of the authorities in PEM",
                ) from error
        self.expires_at_s = _expiry(files.certificate)
        return context


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _check_readable(path: str, option: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise CertificateUnusable(
            f"{path} ({option}) cannot be read: {error.strerror}", "name a file that the broker may read"
        ) from error


def _unusable_pair(files: TlsFiles, error: Exception) -> CertificateUnusable:
    reason = getattr(error, "reason", None) or str(error)
    both = f"{files.certificate} and {files.key}" if files.key != files.certificate else files.certificate
    if reason == "KEY_VALUES_MISMATCH":
        return CertificateUnusable(
            f"{both}: the private key is not that of the certificate",
            "the server's own certificate comes first in ssl.keystore.location, its key belongs to it",
        )
    if _is_encrypted(files.key):  # then OpenSSL's own reasons are as many as its versions
        return CertificateUnusable(
            f"{files.key}: ssl.key.password does not open the private key", "correct ssl.key.password"
        )
    return CertificateUnusable(
        f"{both}: no certificate with its private key in PEM ({reason})",
        "ssl.keystore.location holds the certificate and its chain, and the key unless "
        "ssl.keystore.key.location names another file",
    )


def _is_encrypted(path: str) -> bool:
    with open(path, "rb") as file:
        return b"ENCRYPTED" in file.read(1 << 20)


def _expiry(path: str) -> float | None:
    """When the first certificate of the file ends."""
    try:
        # The one way of the standard library to read a certificate's dates without a connection.
        decoded = ssl._ssl._test_decode_cert(path)  # type: ignore[attr-defined]
        return float(ssl.cert_time_to_seconds(decoded["notAfter"]))
    except (AttributeError, KeyError, ValueError, OSError, ssl.SSLError):
        return None


class CertificateWatch:
    """Looks at the files of all listeners now and then, in a thread."""

    def __init__(self, certificates: Sequence[Certificates], clock: Clock, interval_ms: int) -> None:
        self._certificates = certificates
        self._clock = clock
        self._interval_ms = interval_ms
        self._timer: TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None
        self._is_stopped = False

    def start(self) -> None:
        if self._certificates:
            self._timer = self._clock.call_later(self._interval_ms, self.look)

    def look(self, *, is_forced: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._looking is None and not self._is_stopped:
            self._looking = asyncio.get_running_loop().create_task(self._look(is_forced))
            self._looking.add_done_callback(self._on_looked)

    async def _look(self, is_forced: bool) -> None:
        for each in self._certificates:
            await asyncio.to_thread(each.reload, is_forced=is_forced)

    def _on_looked(self, task: asyncio.Task[None]) -> None:
        self._looking = None
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("the certificates could not be looked at", exc_info=error)
        if not self._is_stopped:
            self._timer = self._clock.call_later(self._interval_ms, self.look)

    async def stop(self) -> None:
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self._looking is not None:
            await asyncio.gather(self._looking, return_exceptions=True)
