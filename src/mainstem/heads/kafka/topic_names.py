"""Topic names as hot requests carry them: few, and the same again and again."""

from __future__ import annotations

from typing import Final

_MOST: Final = 10_000  # names that nobody has are remembered too, but not for ever
_LONGEST_BYTES: Final = 256  # no topic has a longer name


class TopicNames:
    """Names by the bytes that stand for them on the wire, length and all, so that each is decoded once."""

    __slots__ = ("_names",)

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}

    def of(self, wire_name: bytes, prefix_bytes: int) -> str:
        """The name; its length takes `prefix_bytes` of the bytes."""
        name = self._names.get(wire_name)
        if name is None:
            name = str(wire_name[prefix_bytes:], "utf-8")
            if len(wire_name) <= _LONGEST_BYTES:
                if len(self._names) >= _MOST:
                    self._names.clear()
                self._names[wire_name] = name
        return name
