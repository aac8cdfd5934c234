"""The admin interface without sockets: requests go straight into the ASGI application."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from starlette.types import ASGIApp
from tests.support.kafka_node import KafkaNode

from mainstem.admin.application import make_application
from mainstem.admin.node import Node, Phase
from mainstem.config.value import HostPort


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def error_code(self) -> str:
        error = self.json["error"]
        assert error["message"]
        assert error["cure"]
        code: str = error["code"]
        return code


class Site:
    def __init__(self, application: ASGIApp) -> None:
        self.application = application

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        chunks: Iterable[bytes] | None = None,
    ) -> Reply:
        """`body` is sent as JSON, or as it is where it is bytes; `chunks` one after the other."""
        path, _, query = path.partition("?")
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        sent = {"host": "127.0.0.1:1", "content-type": "application/json", **(headers or {})}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items() if value],
            "root_path": "",
            "scheme": "http",
            "http_version": "1.1",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }
        waiting = [*(chunks if chunks is not None else (data,)), None]

        async def receive() -> dict[str, Any]:
            piece = waiting.pop(0)
            if piece is None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": piece, "more_body": waiting[0] is not None}

        messages: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            messages.append(message)

        await self.application(scope, receive, send)
        start, *rest = messages
        told = {name.decode(): value.decode() for name, value in start["headers"]}
        content = b"".join(message.get("body", b"") for message in rest)
        return Reply(start["status"], told, content)


def admin_node(kafka: KafkaNode, **more: Any) -> Node:
    """What of a node the pages read that are tested here."""
    values: dict[str, Any] = {
        "broker": kafka.broker,
        "metadata": kafka.follower,
        "membership": kafka.membership,
        "directories": kafka.directories,
        "connections": SimpleNamespace(connections_open=3, bytes_in=2048, bytes_out=0),
        "node_id": 1,
        "event_loop": "asyncio",
        "started_ms": kafka.clock.now_ms(),
        "phase": lambda: Phase.SERVING,
        "listeners": {"admin": HostPort("127.0.0.1", 9644), "kafka": HostPort("::1", 9092)},
        "advertised": None,
        "token": None,
        **more,
    }
    return cast(Node, SimpleNamespace(**values))


def site_of(node: Node) -> Site:
    return Site(make_application(node))
