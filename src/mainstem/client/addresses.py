"""Where brokers are, as people write it."""

from __future__ import annotations

from typing import Final, NamedTuple

from mainstem.client.errors import InvalidAddress

DEFAULT_PORT: Final = 9092


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`HOST:PORT`, `HOST`, `[IPV6]:PORT`; without a port Kafka's own, 9092."""
    stripped = text.strip()
    host, port_text = stripped, ""
    if stripped.startswith("["):
        host, closed, rest = stripped[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise InvalidAddress(text)
        port_text = rest[1:]
    elif stripped.count(":") == 1:
        host, _, port_text = stripped.partition(":")
        if not port_text:
            raise InvalidAddress(text)
    port = _port(text, port_text) if port_text else DEFAULT_PORT
    if not host or any(character.isspace() or character in "/," for character in host):
        raise InvalidAddress(text)
    return Address(host, port)


def parse_addresses(text: str) -> list[Address]:
    return [parse_address(part) for part in text.split(",") if part.strip()] or [parse_address(text)]


def _port(text: str, port_text: str) -> int:
    if not port_text.isascii() or not port_text.isdigit() or not 0 < int(port_text) < 65536:
        raise InvalidAddress(text)
    return int(port_text)
