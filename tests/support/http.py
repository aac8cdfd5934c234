"""A small HTTP client for the admin interface: JSON in, status and JSON out."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, NamedTuple

TIMEOUT_S = 20.0


class HttpAnswer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def text(self) -> str:
        return self.content.decode()

    @property
    def error_code(self) -> str:
        code: str = self.json["error"]["code"]
        return code


def request(
    base_url: str,
    path: str,
    method: str = "GET",
    body: object = None,
    headers: Mapping[str, str] | None = None,
) -> HttpAnswer:
    """`body` is sent as JSON, or as it is where it is bytes."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    asked = urllib.request.Request(base_url + path, data, method=method)
    if data is not None:
        asked.add_header("Content-Type", "application/json")
    for name, value in (headers or {}).items():
        asked.add_header(name, value)
    try:
        with urllib.request.urlopen(asked, timeout=TIMEOUT_S) as response:
            return HttpAnswer(response.status, dict(response.headers), response.read())
    except urllib.error.HTTPError as error:
        with error:
            return HttpAnswer(error.code, dict(error.headers), error.read())


def metrics(base_url: str) -> dict[str, float]:
    """Every sample by its name with labels, as it stands on the page."""
    page = request(base_url, "/metrics")
    assert page.status == 200, page
    samples: dict[str, float] = {}
    for line in page.text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            assert name not in samples, f"{name} is there twice"
            samples[name] = float(value)
    return samples
