"""The error of the configuration."""

from __future__ import annotations

from mainstem.model.errors import PeerError


class ConfigError(PeerError):
    """An option that does not exist or cannot have this value.

    Names the option, the value, where it came from and what to do instead.
    """

    def __init__(self, option: str, value: str | None, problem: str, cure: str, origin: str = "") -> None:
        self.option = option
        self.value = value
        self.problem = problem
        self.cure = cure
        self.origin = origin
        setting = option if value is None else f"{option} = {value!r}"
        self.statement = f"{setting}{f' ({origin})' if origin else ''}: {problem}"
        super().__init__(f"{self.statement}; {cure}" if cure else self.statement)
