"""Writes the source of a reader for one class and version, and compiles it.

The reader is one function. `buf` is the input, `pos` the next byte, `end` its length, and `left` says how
many more elements its arrays may have. Fields of fixed width that stand side by side, the length in front
of a string and the count of tagged fields are gathered into one `struct` call (a "run"). Reading past the
end shows as IndexError or struct.error, which the codec turns into TruncatedMessage; slices do not fail, so
every length is compared with `end` before its slice.

Messages that carry records are read through a memoryview, so that records are slices; all others are read
as bytes, which Python indexes and decodes faster.
"""

from __future__ import annotations

import struct
from typing import Any

from mainstem.wire.errors import InvalidMessage, TruncatedMessage, WireError
from mainstem.wire.kafka.layout import FIXED, Slot, layout_of, minimum_size
from mainstem.wire.kafka.message import Message, Reader
from mainstem.wire.primitives import (
    MAX_STRING_BYTES,
    check_tag_count,
    read_compact_length,
    read_uvarint,
    skip_tagged_fields,
)


def compile_reader(cls: type[Message], version: int) -> Reader:
    source = _ReaderSource(version, cls.SCHEMA.is_flexible(version), holds_records(cls))
    source.message(cls)
    namespace = source.namespace
    exec(compile("\n".join(source.lines), f"<reader of {cls.__name__} v{version}>", "exec"), namespace)
    reader: Reader = namespace["read"]
    return reader


def holds_records(cls: type[Message]) -> bool:
    return any(
        field.kind == "records" or (field.of is not None and holds_records(field.of))
        for field in cls.SCHEMA.fields
    )


def bad_length(name: str, length: int, remaining: int) -> WireError:
    """The error for a length that null, the bytes that remain or the string limit forbid."""
    if length < 0:
        return InvalidMessage(f"{name} must not be null")
    if length > remaining:
        return TruncatedMessage(f"{name} claims {length} but {remaining} bytes remain")
    return InvalidMessage(f"{name} has {length} bytes, more than a string may have")


def too_many(name: str) -> WireError:
    return InvalidMessage(f"with {name} the message has more elements than a request may have")


def bad_tag_size(name: str) -> WireError:
    return InvalidMessage(f"the tagged field {name} does not fill its size")


class _ReaderSource:
    def __init__(self, version: int, flexible: bool, through_view: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.through_view = through_view
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {
            "bad_length": bad_length,
            "bad_tag_size": bad_tag_size,
            "check_tag_count": check_tag_count,
            "read_compact_length": read_compact_length,
            "read_uvarint": read_uvarint,
            "skip_tagged_fields": skip_tagged_fields,
            "too_many": too_many,
            "TruncatedMessage": TruncatedMessage,
            "unpack_from": struct.unpack_from,
        }
        self.depth = 1
        self.variables = 0
        self.run: list[tuple[str, int, str]] = []

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def variable(self, name: str) -> str:
        self.variables += 1
        return f"{name}_{self.variables}"

    def know(self, value: Any, name: str) -> str:
        """A name under which the generated code finds `value`."""
        self.namespace[name] = value
        return name

    # --- the function around it all

    def message(self, cls: type[Message]) -> None:
        self.lines.append("def read(buffer, pos, left):")
        if self.through_view:
            self.emit("base = 0")
            self.emit("buf = memoryview(buffer)")
            self.emit("if buf.format != 'B' or buf.ndim != 1: buf = buf.cast('B')")
        else:
            self.emit("if type(buffer) is bytes:")
            self.emit("    buf, base = buffer, 0")
            self.emit("else:")
            self.emit("    buf, base, pos = bytes(memoryview(buffer)[pos:]), pos, 0")
        self.emit("end = len(buf)")
        value = self.structure(cls)
        self.emit(f"return {value}, pos + base")

    def structure(self, cls: type[Message]) -> str:
        """Reads the fields; returns the expression that builds the object from them."""
        layout = layout_of(cls, self.version, self.flexible)
        values = [(slot.name, self.field(slot)) for slot in layout.present]
        if self.flexible:
            count = self.variable("tags")
            self.run.append(("B", 1, count))
            self.flush()
            values += self.tagged_fields(layout.tagged, count)
        else:
            self.flush()
        name = self.know(cls, cls.__name__)
        return f"{name}({', '.join(f'{field}={value}' for field, value in values)})"

    def tagged_fields(self, slots: list[Slot], count: str) -> list[tuple[str, str]]:
        values = []
        for slot in slots:
            variable = self.variable(slot.name)
            values.append((slot.name, variable))
            if slot.kind == "struct" and slot.default is not None:
                assert slot.of is not None
                self.emit(f"{variable} = {self.know(slot.of, slot.of.__name__)}()")
            else:
                self.emit(f"{variable} = {slot.default!r}")
        self.emit(f"if {count}:")
        self.depth += 1
        self.emit(f"if {count} > 127: {count}, pos = read_uvarint(buf, pos - 1)")
        if slots:
            self.emit(f"check_tag_count({count})")
            self.known_tags(slots, values, count)
        else:
            self.emit(f"pos = skip_tagged_fields(buf, pos, end, {count})")
        self.depth -= 1
        return values

    def known_tags(self, slots: list[Slot], values: list[tuple[str, str]], count: str) -> None:
        tag, size, stop = self.variable("tag"), self.variable("size"), self.variable("stop")
        self.emit(f"for _ in range({count}):")
        self.depth += 1
        self.emit(f"{tag}, pos = read_uvarint(buf, pos)")
        self.emit(f"{size}, pos = read_uvarint(buf, pos)")
        self.emit(f"{stop} = pos + {size}")
        self.emit(f"if {stop} > end: raise TruncatedMessage('a tagged field ends after the message')")
        for index, (slot, (name, variable)) in enumerate(zip(slots, values, strict=True)):
            self.emit(f"{'elif' if index else 'if'} {tag} == {slot.tag}:")
            self.depth += 1
            found = self.field(slot)
            self.flush()
            self.emit(f"{variable} = {found}")
            self.emit(f"if pos != {stop}: raise bad_tag_size({name!r})")
            self.depth -= 1
        self.emit("else:")
        self.emit(f"    pos = {stop}")
        self.depth -= 1

    # --- one field

    def field(self, slot: Slot) -> str:
        """Reads one field; returns the variable (or expression) that holds it once the run is flushed."""
        if slot.kind == "struct":
            return self.nullable_structure(slot) if slot.nullable else self.plain_structure(slot)
        if slot.kind in FIXED:
            code, size = FIXED[slot.kind]
            variable = self.variable(slot.name)
            self.run.append((code, size, variable))
            return variable
        length = self.length(slot)
        variable = self.variable(slot.name)
        if slot.nullable:
            self.emit(f"if {length} < 0: {variable} = None")
            self.emit("else:")
            self.depth += 1
        if slot.kind.startswith("[]"):
            self.array(slot, length, variable)
        else:
            self.span(slot, length, variable)
        if slot.nullable:
            self.depth -= 1
        return variable

    def length(self, slot: Slot) -> str:
        variable = self.variable("n")
        if slot.compact:
            self.run.append(("B", 1, variable))
            self.flush()
            self.emit(f"if {variable} > 127: {variable}, pos = read_compact_length(buf, pos - 1)")
            self.emit(f"else: {variable} -= 1")
        else:
            self.run.append(("h", 2, variable) if slot.kind == "string" else ("i", 4, variable))
            self.flush()
        return variable

    def span(self, slot: Slot, length: str, variable: str) -> None:
        stop = self.variable("stop")
        self.emit(f"{stop} = pos + {length}")
        lies = [] if slot.nullable else [f"{length} < 0"]
        if slot.kind == "string" and slot.compact:
            lies.append(f"{length} > {MAX_STRING_BYTES}")
        lies.append(f"{stop} > end")
        self.emit(f"if {' or '.join(lies)}: raise bad_length({slot.name!r}, {length}, end - pos)")
        piece = f"buf[pos:{stop}]"
        if slot.kind == "string":
            piece = f"str({piece}, 'utf-8')" if self.through_view else f"{piece}.decode()"
        elif slot.kind == "bytes" and self.through_view:
            piece = f"bytes({piece})"
        self.emit(f"{variable} = {piece}")
        self.emit(f"pos = {stop}")

    def array(self, slot: Slot, length: str, variable: str) -> None:
        kind = slot.kind[2:]
        size = minimum_size(kind, slot.of, self.version, self.flexible)
        need = length if size == 1 else f"{length} * {size}"
        null = "" if slot.nullable else f"{length} < 0 or "
        self.emit(f"if {null}{need} > end - pos: raise bad_length({slot.name!r}, {need}, end - pos)")
        self.emit(f"left -= {length}")
        self.emit(f"if left < 0: raise too_many({slot.name!r})")
        if kind == "uuid":
            self.emit(f"{variable} = [bytes(buf[at:at + 16]) for at in range(pos, pos + {need}, 16)]")
            self.emit(f"pos += {need}")
            return
        if kind in FIXED:
            self.emit(f"{variable} = list(unpack_from(f'>{{{length}}}{FIXED[kind][0]}', buf, pos))")
            self.emit(f"pos += {need}")
            return
        self.emit(f"{variable} = []")
        self.emit(f"for _ in range({length}):")
        self.depth += 1
        element = self.field(slot._replace(kind=kind, nullable=False))
        self.flush()
        self.emit(f"{variable}.append({element})")
        self.depth -= 1

    def plain_structure(self, slot: Slot) -> str:
        assert slot.of is not None
        return self.structure(slot.of)

    def nullable_structure(self, slot: Slot) -> str:
        """A marker byte in front: in a tagged field 0 is null, elsewhere anything negative is."""
        assert slot.of is not None
        marker, variable = self.variable("marker"), self.variable(slot.name)
        self.run.append(("b", 1, marker))
        self.flush()
        self.emit(f"if {marker} {'<= 0' if slot.tag >= 0 else '< 0'}: {variable} = None")
        self.emit("else:")
        self.depth += 1
        self.emit(f"{variable} = {self.structure(slot.of)}")
        self.depth -= 1
        return variable

    # --- runs of fixed width

    def flush(self) -> None:
        run, self.run = self.run, []
        if not run:
            return
        if len(run) == 1 and run[0][0] in ("B", "?"):
            code, _, variable = run[0]
            self.emit(f"{variable} = buf[pos]{' != 0' if code == '?' else ''}")
            self.emit("pos += 1")
            return
        codes = "".join(code for code, _, _ in run)
        unpack = self.know(struct.Struct(">" + codes).unpack_from, "unpack_" + codes.replace("?", "o"))
        targets = ", ".join(variable for _, _, variable in run)
        self.emit(f"{targets}{',' if len(run) == 1 else ''} = {unpack}(buf, pos)")
        self.emit(f"pos += {sum(size for _, size, _ in run)}")
