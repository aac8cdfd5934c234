"""Which APIs there are, cheap to import: the message modules are loaded when a class is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from mainstem.wire.kafka.api_table import API_ROWS
from mainstem.wire.kafka.extensions.api_table import EXTENSION_ROWS

if TYPE_CHECKING:
    from mainstem.wire.kafka.message import Message


class ApiSchema(NamedTuple):
    key: int
    name: str
    module: str  # the whole name
    request_name: str
    response_name: str
    min_version: int
    max_version: int  # the highest stable one
    flexible_from: int  # above every version where there is no flexible one


def _schemas(
    package: str, rows: Iterable[tuple[int, str, str, int, int, int]]
) -> Iterator[tuple[int, ApiSchema]]:
    for key, name, module, lowest, highest, flexible_from in rows:
        yield (
            key,
            ApiSchema(
                key,
                name,
                f"mainstem.wire.kafka.{package}.{module}",
                f"{name}Request",
                f"{name}Response",
                lowest,
                highest,
                flexible_from,
            ),
        )


KAFKA_APIS: Mapping[int, ApiSchema] = MappingProxyType(dict(_schemas("messages", API_ROWS)))
OWN_APIS: Mapping[int, ApiSchema] = MappingProxyType(dict(_schemas("extensions", EXTENSION_ROWS)))
APIS: Mapping[int, ApiSchema] = MappingProxyType({**KAFKA_APIS, **OWN_APIS})


def _message_class(module: str, name: str) -> type[Message]:
    cls: type[Message] = getattr(import_module(module), name)
    return cls


@cache
def request_class(key: int) -> type[Message]:
    """The class of an API in `APIS`; KeyError for any other."""
    api = APIS[key]
    return _message_class(api.module, api.request_name)


@cache
def response_class(key: int) -> type[Message]:
    api = APIS[key]
    return _message_class(api.module, api.response_name)
