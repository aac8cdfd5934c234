"""Writes the source of a writer for one class and version, and compiles it.

The writer appends pieces to a list through `add`. Fields of fixed width that stand side by side, and the
length in front of a string or array, are gathered into one `struct` call (a "run"). A wrong value shows as
struct.error, AttributeError or TypeError, which the codec turns into InvalidMessage.
"""

from __future__ import annotations

import struct
from typing import Any

from mainstem.wire.errors import InvalidMessage, WireError
from mainstem.wire.kafka.layout import FIXED, Slot, layout_of
from mainstem.wire.kafka.message import Message, Writer
from mainstem.wire.primitives import MAX_STRING_BYTES, ONE_BYTE_UVARINTS, uvarint


def compile_writer(cls: type[Message], version: int) -> Writer:
    source = _WriterSource(version, cls.SCHEMA.is_flexible(version))
    source.message(cls)
    namespace = source.namespace
    exec(compile("\n".join(source.lines), f"<writer of {cls.__name__} v{version}>", "exec"), namespace)
    writer: Writer = namespace["write"]
    return writer


def lacks_field(name: str, version: int) -> WireError:
    return InvalidMessage(f"version {version} has no {name}, and it is not at its default")


def bad_uuid(name: str) -> WireError:
    return InvalidMessage(f"{name} is not 16 bytes long")


def too_long(name: str) -> WireError:
    return InvalidMessage(f"{name} has more than {MAX_STRING_BYTES} bytes")


def tagged_field(tag: int, parts: list[bytes]) -> bytes:
    body = b"".join(parts)
    return b"".join((uvarint(tag), uvarint(len(body)), body))


class _WriterSource:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {
            "bad_uuid": bad_uuid,
            "lacks_field": lacks_field,
            "ONE_BYTE": ONE_BYTE_UVARINTS,
            "pack": struct.pack,
            "tagged_field": tagged_field,
            "too_long": too_long,
            "uvarint": uvarint,
        }
        self.depth = 1
        self.variables = 0
        self.add = "add"
        self.run: list[tuple[str, str]] = []

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def variable(self, name: str) -> str:
        self.variables += 1
        return f"{name}_{self.variables}"

    def know(self, value: Any, name: str) -> str:
        """A name under which the generated code finds `value`."""
        self.namespace[name] = value
        return name

    # --- structures

    def message(self, cls: type[Message]) -> None:
        self.lines.append("def write(m, add):")
        self.structure(cls, "m")
        self.flush()
        self.emit("return None")

    def structure(self, cls: type[Message], owner: str) -> None:
        layout = layout_of(cls, self.version, self.flexible)
        for slot in layout.absent:
            if not slot.ignorable:
                differs = self.differs(slot, f"{owner}.{slot.name}")
                self.emit(f"if {differs}: raise lacks_field({slot.name!r}, {self.version})")
        for slot in layout.present:
            self.field(slot, f"{owner}.{slot.name}")
        if layout.tagged:
            self.tagged_fields(layout.tagged, owner)
        elif self.flexible:
            self.run.append(("B", "0"))

    def differs(self, slot: Slot, value: str) -> str:
        """The condition that the value is not the default of the field."""
        default = slot.default
        if default is None:
            return f"{value} is not None"
        if default == []:
            return f"{value} or {value} is None"
        if default is True or default is False:
            return f"not {value}" if default else value
        if isinstance(default, Message):
            return f"{value} != {self.know(default, self.variable('blank'))}"
        return f"{value} != {default!r}"

    def tagged_fields(self, slots: list[Slot], owner: str) -> None:
        self.flush()
        tags, outer = self.variable("tags"), self.add
        self.emit(f"{tags} = []")
        for slot in slots:
            parts = self.variable("parts")
            self.emit(f"if {self.differs(slot, f'{owner}.{slot.name}')}:")
            self.depth += 1
            self.emit(f"{parts} = []")
            self.add = f"{parts}.append"
            self.field(slot, f"{owner}.{slot.name}")
            self.flush()
            self.emit(f"{tags}.append(tagged_field({slot.tag}, {parts}))")
            self.depth -= 1
        self.add = outer
        self.emit(f"{self.add}(uvarint(len({tags})))")
        self.emit(f"if {tags}: {self.add}(b''.join({tags}))")

    # --- one field

    def field(self, slot: Slot, value: str) -> None:
        if slot.kind in FIXED:
            if slot.kind == "uuid":
                self.emit(f"if len({value}) != 16: raise bad_uuid({slot.name!r})")
            self.run.append((FIXED[slot.kind][0], value))
            return
        if slot.kind == "struct":
            self.struct_field(slot, value)
            return
        variable = self.variable(slot.name)
        if slot.nullable:
            self.flush()
            self.emit(f"{variable} = {value}")
            self.emit(f"if {variable} is None:")
            self.depth += 1
            self.null_length(slot)
            self.flush()
            self.depth -= 1
            self.emit("else:")
            self.depth += 1
        elif slot.kind != "string":
            self.emit(f"{variable} = {value}")
        if slot.kind == "string":
            self.emit(f"{variable} = {variable if slot.nullable else value}.encode()")
        self.counted(slot, variable)
        if slot.nullable:
            self.flush()
            self.depth -= 1

    def counted(self, slot: Slot, variable: str) -> None:
        """The length of a string, bytes or array, and what it counts."""
        self.length(slot, variable)
        if not slot.kind.startswith("[]"):
            self.emit(f"{self.add}({variable})")
            return
        kind = slot.kind[2:]
        if kind in FIXED and kind != "uuid":
            self.emit(f"{self.add}(pack(f'>{{len({variable})}}{FIXED[kind][0]}', *{variable}))")
            return
        element = self.variable("item")
        self.emit(f"for {element} in {variable}:")
        self.depth += 1
        before = len(self.lines)
        self.field(slot._replace(kind=kind, nullable=False), element)
        self.flush()
        if len(self.lines) == before:
            self.emit("pass")
        self.depth -= 1

    def length(self, slot: Slot, variable: str) -> None:
        """Writes the length together with the run before it."""
        if not slot.compact:
            self.run.append(("h" if slot.kind == "string" else "i", f"len({variable})"))
            self.flush()
            return
        length = self.variable("n")
        self.emit(f"{length} = len({variable}) + 1")
        if not self.run:
            short = f"{self.add}(ONE_BYTE[{length}])"
        else:
            short = self.packed([*self.run, ("B", length)])
        self.emit(f"if {length} < 128: {short}")
        self.emit("else:")
        self.depth += 1
        if slot.kind == "string":
            self.emit(f"if {length} > {MAX_STRING_BYTES + 1}: raise too_long({slot.name!r})")
        self.flush()
        self.emit(f"{self.add}(uvarint({length}))")
        self.depth -= 1

    def null_length(self, slot: Slot) -> None:
        if slot.compact:
            self.run.append(("B", "0"))
        else:
            self.run.append(("h" if slot.kind == "string" else "i", "-1"))

    def struct_field(self, slot: Slot, value: str) -> None:
        assert slot.of is not None
        if value.isidentifier() and not slot.nullable:  # an element of an array
            self.structure(slot.of, value)
            return
        variable = self.variable(slot.name)
        self.emit(f"{variable} = {value}")
        if not slot.nullable:
            self.structure(slot.of, variable)
            return
        self.flush()
        null = bytes(1) if slot.tag >= 0 else b"\xff"
        self.emit(f"if {variable} is None: {self.add}({null!r})")
        self.emit("else:")
        self.depth += 1
        self.run.append(("b", "1"))
        self.structure(slot.of, variable)
        self.flush()
        self.depth -= 1

    # --- runs of fixed width

    def packed(self, run: list[tuple[str, str]]) -> str:
        if all(value == "0" for _, value in run):
            return f"{self.add}({bytes(struct.calcsize('>' + ''.join(code for code, _ in run)))!r})"
        codes = "".join(code for code, _ in run)
        pack = self.know(struct.Struct(">" + codes).pack, "pack_" + codes.replace("?", "o"))
        return f"{self.add}({pack}({', '.join(value for _, value in run)}))"

    def flush(self) -> None:
        if self.run:
            self.emit(self.packed(self.run))
            self.run = []
