"""Where a value comes from."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Source(enum.IntEnum):
    """Under the codes that DescribeConfigs has for them."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings of one origin; a later layer overrides an earlier one."""

    source: Source
    values: Mapping[str, str]
    origin: str = ""  # in words, for error messages: "from mainstem.toml"
    origins: Mapping[str, str] = field(default_factory=dict)  # of single options, where they differ

    def origin_of(self, name: str) -> str:
        return self.origins.get(name, self.origin)
