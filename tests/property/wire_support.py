"""Random messages made from the field tables, and the same messages as entities of kio, the oracle."""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import pkgutil
import types
import typing
import uuid
from collections.abc import Iterator
from random import Random
from typing import Any

from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType

from mainstem.wire.kafka import records
from mainstem.wire.kafka.apis import APIS, request_class, response_class
from mainstem.wire.kafka.message import Field, Message, version_range

INTEGERS = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
LETTERS = "abcXYZ-._09äß€漢🙂"
ERROR_CODES = sorted(int(code) for code in ErrorCode)
EPOCH = datetime.datetime.fromtimestamp(0, tz=datetime.UTC)


def message_classes() -> list[type[Message]]:
    return [cls for key in APIS for cls in (request_class(key), response_class(key))]


def record_classes() -> list[type[Message]]:
    found = []
    for module in pkgutil.iter_modules(records.__path__):
        content = vars(importlib.import_module(f"{records.__name__}.{module.name}"))
        found += [
            value
            for value in content.values()
            if isinstance(value, type)
            and issubclass(value, Message)
            and value.SCHEMA.max_version >= 0
            and value is not Message
            and value.SCHEMA.min_version <= value.SCHEMA.max_version
        ]
    return found


def versions_of(cls: type[Message]) -> range:
    return range(cls.SCHEMA.min_version, cls.SCHEMA.max_version + 1)


def _within(text: str, version: int) -> bool:
    low, high = version_range(text)
    return low <= version <= high


# --- random messages


def random_message(cls: type[Message], version: int, rng: Random, oracle: type | None = None) -> Any:
    """Every field of the version gets a value, often its default; with an oracle, one that it can hold."""
    hints = oracle_fields(cls, oracle) if oracle else {}
    values = {}
    for field in cls.SCHEMA.fields:
        if not _within(field.versions, version) or rng.random() < 0.15:
            continue
        values[field.name] = _random_value(field, version, rng, hints.get(field.name))
    return cls(**values)


def _random_value(field: Field, version: int, rng: Random, hint: OracleField | None) -> Any:
    if _within(field.nullable, version) and rng.random() < 0.25:
        return None
    if not field.kind.startswith("[]"):
        return _random_scalar(field.kind, field, version, rng, hint)
    kind = field.kind.removeprefix("[]")
    long = kind != "struct" and rng.random() < 0.1
    return [
        _random_scalar(kind, field, version, rng, hint) for _ in range(130 if long else rng.randint(0, 3))
    ]


def _random_scalar(kind: str, field: Field, version: int, rng: Random, hint: OracleField | None) -> Any:
    if kind == "struct":
        assert field.of is not None
        return random_message(field.of, version, rng, hint.entity if hint else None)
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "string":
        return "".join(rng.choice(LETTERS) for _ in range(rng.choice((0, 1, 5, 60, 126, 127, 128))))
    if kind in ("bytes", "records"):
        return rng.randbytes(rng.choice((0, 1, 10, 126, 127, 128, 300)))
    if kind == "uuid":
        return bytes(16) if rng.random() < 0.2 else rng.randbytes(16)
    if kind == "float64":
        return rng.choice((0.0, 1.5, -1e300))
    return _random_integer(kind, rng, hint)


def _random_integer(kind: str, rng: Random, hint: OracleField | None) -> int:
    low, high = INTEGERS[kind]
    kafka_type = hint.kafka_type if hint else ""
    if kafka_type == "error_code":
        return rng.choice(ERROR_CODES)
    if kafka_type == "timedelta_i64":
        low, high = 0, 1 << 40
    if kafka_type == "datetime_i64":
        low, high = 0, 1 << 41
    return rng.choice((low, high, 0 if low < 0 else low, rng.randint(low, high)))


def smallest_message(cls: type[Message], version: int, depth: int) -> Any:
    """The fewest bytes that a value can take, but for arrays of two elements down to a depth."""
    values: dict[str, Any] = {}
    for field in cls.SCHEMA.fields:
        if not _within(field.versions, version):
            continue
        if field.kind == "[]struct" and depth > 0:
            assert field.of is not None
            values[field.name] = [smallest_message(field.of, version, depth - 1)] * 2
        elif _within(field.nullable, version):
            values[field.name] = None
        elif field.kind.startswith("[]"):
            values[field.name] = []
        elif field.kind in ("string", "bytes", "records"):
            values[field.name] = "" if field.kind == "string" else b""
        elif field.kind == "struct":
            assert field.of is not None
            values[field.name] = smallest_message(field.of, version, depth)
    return cls(**values)


# --- the oracle


@dataclasses.dataclass(frozen=True)
class OracleField:
    name: str  # as kio calls it
    kafka_type: str
    entity: type | None  # of a struct, or of the elements of an array


def oracle_fields(cls: type[Message], entity: type) -> dict[str, OracleField]:
    """By our names: kio drops the unit of a duration or time."""
    names = {field.name for field in cls.SCHEMA.fields}
    hints = typing.get_type_hints(entity)

    def our_name(name: str) -> str:
        found = {name, name.rstrip("_"), f"{name}_ms", f"{name}_timestamp_ms"} & names
        assert len(found) == 1, (cls, name)
        return found.pop()

    return {
        our_name(field.name): OracleField(
            field.name, field.metadata.get("kafka_type", ""), next(_entities_in(hints[field.name]), None)
        )
        for field in dataclasses.fields(entity)
    }


def _entities_in(hint: Any) -> Iterator[type]:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        yield hint
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is not None:
        for part in typing.get_args(hint):
            yield from _entities_in(part)


def oracle_class(cls: type[Message], version: int) -> type:
    api = APIS[cls.SCHEMA.key]
    kind: Any = EntityType.request if cls.__name__ == api.request_name else EntityType.response
    entity: type = getattr(load_payload_module(api.key, version, kind), cls.__name__)
    return entity


def to_oracle(message: Message, entity: type) -> Any:
    """The same message as kio holds it; a field that one of both lacks is left at its default."""
    kinds = {field.name: field for field in type(message).SCHEMA.fields}
    values = {}
    for name, hint in oracle_fields(type(message), entity).items():
        values[hint.name] = _oracle_value(getattr(message, name), kinds[name].kind, hint)
    return entity(**values)


def _oracle_value(value: Any, kind: str, hint: OracleField) -> Any:
    if isinstance(value, list):
        return tuple(_oracle_value(item, kind.removeprefix("[]"), hint) for item in value)
    if isinstance(value, Message):
        assert hint.entity is not None
        return to_oracle(value, hint.entity)
    if kind == "uuid":
        return uuid.UUID(bytes=value) if any(value) else None
    if hint.kafka_type == "error_code":
        return ErrorCode(value)
    if hint.kafka_type.startswith("timedelta"):
        return datetime.timedelta(milliseconds=value)
    if hint.kafka_type == "datetime_i64":
        return None if value == -1 else EPOCH + datetime.timedelta(milliseconds=value)
    return value
