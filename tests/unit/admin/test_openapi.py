"""The OpenAPI document: complete, and without a loose end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.unit.admin.site import Site

from mainstem.admin.application import OPERATIONS
from mainstem.admin.openapi import document


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(part, list):
        for each in part:
            yield from references(each)


async def test_it_is_served(site: Site) -> None:
    served = (await site.ask("GET", "/openapi.json")).json
    assert served == json.loads(json.dumps(document(OPERATIONS)))


def test_each_operation_is_described() -> None:
    described = document(OPERATIONS)
    found = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert found == {(each.method, each.path.replace(":path}", "}")) for each in OPERATIONS}
    names = [each["operationId"] for methods in described["paths"].values() for each in methods.values()]
    assert len(names) == len(set(names))


def test_every_reference_leads_somewhere() -> None:
    described = document(OPERATIONS)
    known = {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}
    assert set(references(described)) <= known


def test_every_parameter_of_a_path_is_declared() -> None:
    for path, methods in document(OPERATIONS)["paths"].items():
        for operation in methods.values():
            declared = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path)), path


def test_every_operation_with_a_body_says_how_it_refuses_one() -> None:
    for methods in document(OPERATIONS)["paths"].values():
        for operation in methods.values():
            if "requestBody" in operation:
                assert {"400", "413", "415"} <= set(operation["responses"])
            assert {"500", "default"} <= set(operation["responses"])
