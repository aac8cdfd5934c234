"""The levels of the broker's loggers, changed while it runs (`kafka-configs --entity-type broker-loggers`).

A level set here lasts until the broker ends; what it starts with is `log.level`. Loggers are those of
Python's `logging`, which are the process's: this is the one place that changes them. The names of levels
are Kafka's.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from mainstem.core.errors import InvalidConfig, InvalidRequest
from mainstem.core.ports import ConfigChange

ROOT: Final = "root"
OWN: Final = "mainstem"
LEVELS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "FATAL": logging.CRITICAL,
        "ERROR": logging.ERROR,
        "WARN": logging.WARNING,
        "INFO": logging.INFO,
        "DEBUG": logging.DEBUG,
        "TRACE": 5,
    }
)


class BrokerLoggers:
    def levels(self) -> dict[str, str]:
        """Of every logger of the broker that there is by now, and of the one above all."""
        names = sorted(
            name
            for name, logger in logging.root.manager.loggerDict.items()
            if isinstance(logger, logging.Logger) and (name == OWN or name.startswith(f"{OWN}."))
        )
        return {name: _level_name(self._logger(name).getEffectiveLevel()) for name in (ROOT, *names)}

    def change(self, changes: Sequence[ConfigChange], *, validate_only: bool = False) -> None:
        """All or none. Raises what is wrong with the first that cannot be."""
        decided = [(self._known(change.name), self._level(change)) for change in changes]
        if not validate_only:
            for logger, level in decided:
                logger.setLevel(level)

    def _level(self, change: ConfigChange) -> int:
        if change.operation == "delete":
            if change.name == ROOT:
                raise InvalidRequest("the level of the root logger can be set, but not taken away")
            return logging.NOTSET
        if change.operation != "set":
            raise InvalidRequest(f"a logger has one level: {change.operation} is for lists")
        level = LEVELS.get((change.value or "").strip().upper())
        if level is None:
            raise InvalidConfig(f"{change.value!r} is not a level; levels are {', '.join(LEVELS)}")
        return level

    def _known(self, name: str) -> logging.Logger:
        if name not in self.levels():
            raise InvalidConfig(f"there is no logger {name!r}; DescribeConfigs lists those that there are")
        return self._logger(name)

    @staticmethod
    def _logger(name: str) -> logging.Logger:
        return logging.root if name == ROOT else logging.getLogger(name)


def _level_name(level: int) -> str:
    """The nearest of Kafka's levels that lets everything through which this one does."""
    return next((name for name, number in LEVELS.items() if number <= level), "TRACE")
