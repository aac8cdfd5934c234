"""What can go wrong between this client and a broker, each with what the reader can do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mainstem.client.answer_codes import answer_name, answer_text, is_passing
from mainstem.model.errors import BrokerError, PeerError

_START_OR_NAME_ONE: Final = (
    "Is it running, and is this its Kafka address? "
    "Start one with `mainstem start`, or name another with --bootstrap HOST:PORT."
)
_CORRECT_THE_ANNOUNCEMENT: Final = (
    "The cluster announces it under this address; if that is wrong from here, "
    "start the broker with --advertised-kafka HOST:PORT."
)


class ClusterUnreachable(BrokerError):
    """No address that we know answers."""

    def __init__(self, failures: Sequence[tuple[str, str]], cure: str = _START_OR_NAME_ONE) -> None:
        if len(failures) == 1:
            address, reason = failures[0]
            told = f"cannot reach a broker at {address}: {reason}"
        else:
            told = "cannot reach any broker: " + "; ".join(
                f"{address}: {reason}" for address, reason in failures
            )
        super().__init__(f"{told}. {cure}")
        self.failures = tuple(failures)


class BrokerUnreachable(ClusterUnreachable):
    """One broker does not answer; others may, and one of them may take over from it."""

    def __init__(self, address: str, reason: str, *, is_announced: bool = False) -> None:
        cure = _CORRECT_THE_ANNOUNCEMENT if is_announced else _START_OR_NAME_ONE
        super().__init__([(address, reason)], cure)
        self.reason = reason


class ConnectionLost(BrokerError):
    """The broker was there, and then it was not."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"the connection to {address} broke: {reason}")
        self.address = address


class AnswerTooLate(BrokerError):
    def __init__(self, address: str, request: str, timeout_s: float) -> None:
        super().__init__(f"{address} did not answer {request} within {timeout_s:g} s")
        self.address = address


class UnexpectedAnswer(BrokerError):
    """The bytes that came are no answer to what was asked: no Kafka broker, or a broken one."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"{address} does not answer as a Kafka broker does: {reason}. "
            "Is this the Kafka address, without TLS, and not that of another service?"
        )
        self.address = address


class DamagedBatch(BrokerError):
    """A batch came that is not what its checksum or its own header says."""

    def __init__(self, partition: str, offset: int, reason: str) -> None:
        super().__init__(
            f"{partition}: the batch at offset {offset} is damaged: {reason}. "
            "`mainstem log verify` on the broker's data directory tells whether the file is."
        )
        self.offset = offset


class OffsetsNotReached(BrokerError):
    """The partition does not get to an offset that should be there."""

    def __init__(
        self,
        partition: str,
        position: int,
        end: int,
        *,
        high_watermark: int,
        last_stable_offset: int | None,
    ) -> None:
        if last_stable_offset is not None and 0 <= last_stable_offset <= position < high_watermark:
            cause = (
                f"a transaction that is open since offset {last_stable_offset} holds back what follows; "
                "end it, or read uncommitted"
            )
        else:
            cause = f"the partition ends at {high_watermark}"
        super().__init__(f"{partition}: nothing comes at offset {position}, wanted up to {end}: {cause}")
        self.position = position


class RequestNotServed(PeerError):
    """The broker does not offer the request in a version that we speak."""


class InvalidAddress(PeerError):
    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is not an address: write HOST:PORT, several separated by commas")


class Refused(PeerError):
    """The broker understood, and said no."""

    def __init__(self, code: int, subject: str, message: str | None = None) -> None:
        reason = message or answer_text(code)
        super().__init__(f"{subject}: {reason} ({answer_name(code)})")
        self.code = code
        self.name = answer_name(code)
        self.subject = subject

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed a moment later."""
        return is_passing(self.code)


class NotDelivered(BrokerError):
    """Records that were handed to the producer and that no broker confirmed."""


def check(code: int, subject: str, message: str | None = None) -> None:
    """Raises `Refused` unless the code says that all is well."""
    if code:
        raise Refused(code, subject, message)


class LoginRefused(PeerError):
    """The broker does not let us in, or is not the one that we take it for."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the log-in failed: {reason}")
        self.reason = reason


class InvalidSecurity(PeerError):
    """What was said about TLS or the log-in does not go together."""
