"""Which transactional ids a tool asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

from mainstem.core.errors import InvalidRegularExpression
from mainstem.core.transactions.states import TransactionState
from mainstem.core.transactions.transaction import StoredTransaction

MAX_PATTERN_LENGTH = 1_000


class KnownTransaction(NamedTuple):
    transactional_id: str
    stored: StoredTransaction


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """What is left empty keeps nothing out."""

    states: Collection[TransactionState] = ()
    producer_ids: Collection[int] = ()
    longer_than_ms: int = -1  # open for more than so long
    id_pattern: str | None = None  # a regular expression for the whole id

    def compile(self, now_ms: int) -> Callable[[str, StoredTransaction], bool]:
        pattern = _compile_pattern(self.id_pattern)

        def is_wanted(transactional_id: str, stored: StoredTransaction) -> bool:
            if self.states and stored.state not in self.states:
                return False
            if self.producer_ids and stored.producer_id not in self.producer_ids:
                return False
            if self.longer_than_ms >= 0 and now_ms - stored.start_ms <= self.longer_than_ms:
                return False
            return pattern is None or pattern.fullmatch(transactional_id) is not None

        return is_wanted


def _compile_pattern(text: str | None) -> re.Pattern[str] | None:
    if not text:
        return None
    if len(text) > MAX_PATTERN_LENGTH:
        raise InvalidRegularExpression(f"a pattern has at most {MAX_PATTERN_LENGTH} characters")
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidRegularExpression(f"{text!r} is no regular expression: {error}") from error
