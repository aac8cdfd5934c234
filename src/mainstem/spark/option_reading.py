"""Options as Spark gives them, text under names in any case, read into values or refused with their cure."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final, NoReturn

from mainstem.model.ids import TopicPartition
from mainstem.spark.errors import InvalidOption

_CURES: Final[dict[str, str]] = {
    "fetchoffset.numretries": "Leave it out: offsets are asked for until kafka.request.timeout.ms is over.",
    "fetchoffset.retryintervalms": "Leave it out: the pause between attempts grows by itself.",
    "kafka.auto.offset.reset": "Use startingOffsets, and failOnDataLoss for what was deleted.",
    "kafka.enable.auto.commit": "Leave it out: the position is committed after each batch; "
    "commitOffsetsToGroup turns that off.",
    "kafka.key.deserializer": "Leave it out: keys are binary; cast the column.",
    "kafka.value.deserializer": "Leave it out: values are binary; cast the column.",
    "kafka.interceptor.classes": "Leave it out: no Java class runs in this source.",
}
_SECRET_WORDS: Final = ("password", "jaas", "secret", "token")
_UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}

Offsets = dict[TopicPartition, int]


class OptionReading:
    """The options of one source or sink."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): str(value).strip() for name, value in given.items()}

    def text(self, name: str) -> str | None:
        return self._given.get(name.lower()) or None

    def refuse(self, name: str, reason: str, cure: str) -> NoReturn:
        raise InvalidOption(name, self._shown(name), reason, cure)

    def _shown(self, name: str) -> str | None:
        is_secret = any(word in name.lower() for word in _SECRET_WORDS)
        return None if is_secret else self._given.get(name.lower())

    def names(self, prefix: str) -> list[str]:
        """Those that are set and begin so."""
        return [name for name in self._given if name.startswith(prefix)]

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        value = (self.text(name) or default).lower()
        if value and value not in choices:
            self.refuse(name, "it cannot be that", f"Say {' or '.join(choices)}.")
        return value

    def flag(self, name: str, default: bool) -> bool:
        return self.choice(name, str(default).lower(), ("true", "false")) == "true"

    def count(self, name: str) -> int | None:
        text = self.text(name)
        return None if text is None else self.whole(name, text, 1)

    def whole(self, name: str, text: str, minimum: int) -> int:
        try:
            number = int(text)
        except ValueError:
            self.refuse(name, "it is no whole number", f"Give a number of {minimum} or more.")
        if not minimum <= number < 2**63:
            self.refuse(name, "it is out of range", f"Give a number of {minimum} or more.")
        return number

    def duration_ms(self, name: str, default: int) -> int:
        text = self.text(name)
        if text is None:
            return default
        found = re.fullmatch(r"(\d+)\s*([a-z]*)", text.lower())
        if found is None or (found[2] or "ms") not in _UNITS_MS:
            self.refuse(name, "it is no span of time", "Write 500ms, 30s, 15m or 1h.")
        return int(found[1]) * _UNITS_MS[found[2] or "ms"]

    def json_object(self, name: str, cure: str) -> dict[str, Any]:
        try:
            found = json.loads(self.text(name) or "")
        except ValueError as error:
            self.refuse(name, f"it is no JSON: {error}", cure)
        if not isinstance(found, dict):
            self.refuse(name, "it is no JSON object", cure)
        return found

    def by_partition(self, name: str, *, minimum: int) -> Offsets:
        cure = 'Write {"topic":{"0":23,"1":' + ("-2" if minimum < 0 else "42") + "}}."
        numbers: Offsets = {}
        for topic, entries in self.json_object(name, cure).items():
            if not isinstance(entries, dict):
                self.refuse(name, f"{topic!r} needs an object of partitions", cure)
            for partition, number in entries.items():
                if not partition.isdecimal() or type(number) is not int or number < minimum:
                    self.refuse(name, f"{topic!r} has {partition!r}: {number!r}", cure)
                numbers[TopicPartition(topic, int(partition))] = number
        if not numbers:
            self.refuse(name, "it names no partition", cure)
        return numbers

    def refuse_unknown(self, known: Collection[str], foreign: Mapping[str, str]) -> None:
        """`foreign` are names that are known, but not here: with where they belong."""
        names = {name.lower(): name for name in known}
        elsewhere = {name.lower(): name for name in foreign}
        for name in self._given:
            if name in names:
                continue
            if name in elsewhere:
                self.refuse(elsewhere[name], f"it belongs to {foreign[elsewhere[name]]}", "Leave it out.")
            raise InvalidOption(
                name, self._shown(name), "there is no such option", _cure(name, {**names, **elsewhere})
            )


def _cure(name: str, names: Mapping[str, str]) -> str:
    if name in _CURES:
        return _CURES[name]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.85)
    if close:
        return f"Did you mean {names[close[0]]}?"
    if name.startswith("kafka.ssl."):
        return "Certificates and keys are PEM files here, without passwords of their own: see docs/spark.md."
    if name.startswith("kafka."):
        return "It steers the Java client, which does not run here: leave it out."
    return "docs/spark.md lists the options."
