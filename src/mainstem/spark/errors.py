"""What can be wrong with a Spark job's wishes, each with what its author can do about it."""

from __future__ import annotations

from collections.abc import Iterable

from mainstem.model.errors import MainstemError, PeerError


class InvalidOption(PeerError):
    """An option that does not exist, or a value that it cannot have."""

    def __init__(self, option: str, value: str | None, reason: str, cure: str) -> None:
        told = f"option {option!r}" if value is None else f"option {option!r} is {value!r}"
        super().__init__(f"{told}: {reason}. {cure}")
        self.option = option


class NoSuchTopics(PeerError):
    def __init__(self, wanted: str) -> None:
        super().__init__(
            f"no topic is there for {wanted}. `mainstem topic list` names those that there are, "
            "`mainstem topic create NAME` makes one"
        )


class DataLost(MainstemError):
    """Records that the job has not read are gone."""

    def __init__(self, losses: Iterable[str]) -> None:
        super().__init__(
            f"records may have been lost: {'; '.join(losses)}. They were deleted by retention, or the topic "
            "was deleted, before they were read. To go on with what is left set the option "
            "failOnDataLoss to false"
        )


class JavaMissing(PeerError):
    """Spark needs a Java runtime."""


class InvalidRows(PeerError):
    """What is to be written cannot be records."""

    def __init__(self, reason: str, cure: str) -> None:
        super().__init__(f"{reason}. {cure}")
