"""Derives the Kafka message modules from the message definitions inside Kafka's own jars.

    python tools/derive_kafka_schemas.py kafka-clients.jar kafka-group-coordinator.jar kafka-metadata.jar ...

It rewrites src/mainstem/wire/kafka/messages, records, metadata and api_table.py. Names, types, versions,
tags and defaults are taken over; the definitions' comments are not. Run `ruff format` on the result (the
tool does it when ruff is at hand).
"""

from __future__ import annotations

import json
import keyword
import re
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "src" / "mainstem" / "wire" / "kafka"
DERIVED = "Derived by tools/derive_kafka_schemas.py, not by hand."
NEVER = 0x8000  # above every version
HEADERS = ("RequestHeader", "ResponseHeader")
# Of the definitions that are no requests, those that are about records which a broker keeps or hands on.
DATA_RECORDS = (
    "ConsumerProtocolSubscription",
    "ConsumerProtocolAssignment",
    "ControlRecordTypeSchema",
    "EndTxnMarker",
)
# Of the records of Kafka's metadata log, those that say what a directory of Kafka's holds and who may use it.
METADATA_RECORDS = (
    "TopicRecord",
    "PartitionRecord",
    "PartitionChangeRecord",
    "RemoveTopicRecord",
    "ConfigRecord",
    "ClientQuotaRecord",
    "ProducerIdsRecord",
    "AccessControlEntryRecord",
    "RemoveAccessControlEntryRecord",
    "UserScramCredentialRecord",
    "RemoveUserScramCredentialRecord",
    "BeginTransactionRecord",
    "EndTransactionRecord",
    "AbortTransactionRecord",
)
PYTHON_TYPES = {"bool": "bool", "string": "str", "bytes": "bytes", "uuid": "bytes", "records": "Buffer"}


@dataclass
class Definition:
    """One JSON file."""

    body: dict[str, Any]
    classes: dict[str, str] = field(default_factory=dict)  # struct name in the JSON -> class name

    @property
    def name(self) -> str:
        return str(self.body["name"])

    @property
    def kind(self) -> str:
        return str(self.body["type"])

    @property
    def is_served_by_brokers(self) -> bool:
        return self.body["validVersions"] != "none" and "broker" in self.body.get("listeners", ())

    def structs(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Every nested struct, those that others are made of first, and the message itself last."""
        common = {struct["name"]: struct["fields"] for struct in self.body.get("commonStructs", ())}
        seen: set[str] = set()

        def nested(fields: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
            for entry in fields:
                name = element_of(entry["type"])
                if not name[0].isupper() or name in seen:
                    continue
                own = entry.get("fields") or common[name]
                yield from nested(own)
                seen.add(name)
                yield name, own

        fields = self.body.get("fields", [])
        yield from nested(fields)
        yield self.name, fields


def element_of(kind: str) -> str:
    return kind.removeprefix("[]")


def snake_case(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return words + "_" if keyword.iskeyword(words) else words


def read_definitions(jars: Iterable[str]) -> list[Definition]:
    definitions = []
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for path in sorted(archive.namelist()):
                if path.startswith(("common/message/", "common/metadata/")) and path.endswith(".json"):
                    text = archive.read(path).decode()
                    without_comments = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
                    definitions.append(Definition(json.loads(without_comments)))
    return definitions


# --- one field


def default_of(entry: dict[str, Any], classes: dict[str, str]) -> str:
    """The Python source of the default. A JSON null is the same as no default; "null" means null."""
    kind, default = entry["type"], entry.get("default")
    if default == "null":
        return "None"
    if kind.startswith("[]"):
        return "field(default_factory=list)"
    if kind[0].isupper():
        return f"field(default_factory={classes[kind]})"
    if kind == "string":
        return json.dumps(default or "")
    if kind in ("bytes", "records"):
        return 'b""'
    if kind == "uuid":
        return "ZERO_UUID"
    if kind == "bool":
        return str(str(default).lower() == "true")
    if kind == "float64":
        return repr(float(default or 0))
    return str(int(str(default), 0)) if default not in (None, "") else "0"


def annotation_of(entry: dict[str, Any], classes: dict[str, str]) -> str:
    kind = entry["type"]
    name = element_of(kind)
    if name[0].isupper():
        python = classes[name]
    else:
        python = PYTHON_TYPES.get(name, "float" if name.startswith("float") else "int")
    if kind.startswith("[]"):
        python = f"list[{python}]"
    return f"{python} | None" if "nullableVersions" in entry or entry.get("default") == "null" else python


def table_row(entry: dict[str, Any], classes: dict[str, str]) -> str:
    kind = entry["type"]
    name = element_of(kind)
    versions = entry.get("versions") or entry["taggedVersions"]
    row = [json.dumps(snake_case(entry["name"]))]
    if name[0].isupper():
        row += [json.dumps(kind.replace(name, "struct")), json.dumps(versions), f"of={classes[name]}"]
    else:
        row += [json.dumps(kind), json.dumps(versions)]
    if entry.get("nullableVersions", "none") != "none":
        row.append(f"nullable={json.dumps(entry['nullableVersions'])}")
    if "tag" in entry:
        row += [f"tag={entry['tag']}", f"tagged={json.dumps(entry['taggedVersions'])}"]
    if entry.get("ignorable"):
        row.append("ignorable=True")
    if "flexibleVersions" in entry:
        if entry["flexibleVersions"] != "none":
            raise SystemExit(f"field {entry['name']}: flexibleVersions other than none are not understood")
        row.append("flexible=False")
    return f"Field({', '.join(row)}),"


# --- one class, one module


def class_source(definition: Definition, name: str, fields: list[dict[str, Any]]) -> list[str]:
    classes = definition.classes
    lines = [f"class {classes[name]}(Message):"]
    for entry in fields:
        attribute = snake_case(entry["name"])
        lines.append(f"    {attribute}: {annotation_of(entry, classes)} = {default_of(entry, classes)}")
    lines += ["", "    SCHEMA: ClassVar[Schema] = Schema("]
    lines += [f"        {table_row(entry, classes)}" for entry in fields]
    if name == definition.name:
        body = definition.body
        lines.append(f"        versions={json.dumps(body['validVersions'])},")
        if body.get("flexibleVersions", "none") != "none":
            lines.append(f"        flexible={json.dumps(body['flexibleVersions'])},")
        if "apiKey" in body:
            lines.append(f"        key={body['apiKey']},")
    return [*lines, "    )", "", ""]


def name_classes(definitions: list[Definition]) -> None:
    """Nested classes keep their names; where two messages of a module share one, both get a prefix."""
    uses = Counter(name for definition in definitions for name, _ in definition.structs())
    for definition in definitions:
        for name, _ in definition.structs():
            definition.classes[name] = definition.name + name if uses[name] > 1 else name


def module_source(title: str, definitions: list[Definition]) -> str:
    name_classes(definitions)
    body: list[str] = []
    for definition in definitions:
        for name, fields in definition.structs():
            body += class_source(definition, name, fields)
    text = "\n".join(body)
    head = [f'"""{title}. {DERIVED}"""', ""]
    head += ["from __future__ import annotations", ""]
    typing_names = "TYPE_CHECKING, ClassVar" if "Buffer" in text else "ClassVar"
    head += [f"from typing import {typing_names}", ""]
    if " = field(" in text:
        head += ["from msgspec import field", ""]
    names = ["Field"] if "Field(" in text else []
    names += ["Message", "Schema"]
    if "ZERO_UUID" in text:
        names.insert(0, "ZERO_UUID")
    head += [f"from mainstem.wire.kafka.message import {', '.join(names)}", ""]
    if "Buffer" in text:
        head += ["if TYPE_CHECKING:", "    from typing_extensions import Buffer", ""]
    return "\n".join([*head, "", text.rstrip(), ""])


def write_modules(folder: Path, title: str, modules: dict[str, list[Definition]]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(f'"""{title}, a module each."""\n')
    for name, definitions in sorted(modules.items()):
        definitions.sort(key=lambda definition: definition.name)
        subject = f"Kafka: {name.replace('_', ' ')}"
        (folder / f"{name}.py").write_text(module_source(subject, definitions))


# --- the table of APIs


def lowest(versions: str) -> int:
    return NEVER if versions == "none" else int(re.split(r"[-+]", versions)[0])


def api_row(request: Definition, response: Definition) -> str:
    body = request.body
    low, _, high = body["validVersions"].partition("-")
    highest = int(high or low) - bool(body.get("latestVersionUnstable"))
    flexible_from = lowest(body["flexibleVersions"])
    if flexible_from != lowest(response.body["flexibleVersions"]):
        raise SystemExit(f"{request.name}: request and response become flexible at different versions")
    name = request.name.removesuffix("Request")
    if response.name != name + "Response":
        raise SystemExit(f"{request.name} is answered by {response.name}")
    values = (body["apiKey"], name, snake_case(name), int(low), highest, flexible_from)
    return "    (" + ", ".join(json.dumps(value) for value in values) + "),"


def api_table_source(pairs: list[tuple[Definition, Definition]]) -> str:
    rows = [api_row(*pair) for pair in sorted(pairs, key=lambda pair: int(pair[0].body["apiKey"]))]
    head = (
        f'"""The APIs that a broker may serve. {DERIVED}"""\n\n'
        "from __future__ import annotations\n\n"
        "# key, name, module, lowest and highest stable version, first flexible version\n"
        "API_ROWS: tuple[tuple[int, str, str, int, int, int], ...] = (\n"
    )
    return head + "\n".join(rows) + "\n)\n"


# --- all of it


def derive(definitions: list[Definition]) -> None:
    requests = {d.body["apiKey"]: d for d in definitions if d.kind == "request" and d.is_served_by_brokers}
    responses = {d.body["apiKey"]: d for d in definitions if d.kind == "response"}
    pairs = [(request, responses[key]) for key, request in requests.items()]
    messages = {snake_case(pair[0].name.removesuffix("Request")): list(pair) for pair in pairs}
    records: dict[str, list[Definition]] = {}
    metadata: dict[str, list[Definition]] = {}
    for definition in definitions:
        if definition.kind == "metadata":
            if definition.name in METADATA_RECORDS:
                metadata[snake_case(definition.name)] = [definition]
        elif definition.name in HEADERS:
            messages[snake_case(definition.name)] = [definition]
        elif definition.kind.startswith("coordinator-") or definition.name in DATA_RECORDS:
            subject = re.sub("(Key|Value)$", "", definition.name)
            records.setdefault(snake_case(subject), []).append(definition)
    write_modules(TARGET / "messages", "The requests and responses", messages)
    write_modules(TARGET / "records", "Records that brokers and clients keep in the log", records)
    write_modules(TARGET / "metadata", "Records of the log in which Kafka keeps its metadata", metadata)
    (TARGET / "api_table.py").write_text(api_table_source(pairs))


def main(jars: list[str]) -> int:
    if not jars:
        print(__doc__)
        return 2
    derive(read_definitions(jars))
    ruff = Path(sys.executable).with_name("ruff")
    if ruff.exists():
        subprocess.run([ruff, "format", "-q", TARGET], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
