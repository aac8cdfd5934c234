"""The HTTP server's bounds: connections that are too many, and such as bring nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
from starlette.types import Receive, Scope, Send

from mainstem.admin import http_server
from mainstem.admin.http_server import AdminServer

PATIENCE_S = 20.0


async def hello(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture
async def port() -> AsyncIterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = AdminServer(hello)
    server.start([listening])
    yield listening.getsockname()[1]
    await server.stop()


async def read_all(reader: asyncio.StreamReader) -> bytes:
    """Until the server closes, which it may do with a reset."""
    try:
        return await asyncio.wait_for(reader.read(), PATIENCE_S)
    except ConnectionResetError:
        return b""


async def ask(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = await read_all(reader)
    writer.close()
    return answer


async def test_a_request_is_answered(port: int) -> None:
    answer = await ask(port)
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"hello")
    assert b"uvicorn" not in answer.lower()


async def test_who_brings_no_request_is_sent_away(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "REQUEST_HEAD_TIMEOUT_S", 0.01)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HT")
    assert await read_all(reader) == b""
    writer.close()


async def test_connections_are_counted(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 1)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert await asyncio.wait_for(reader.readuntil(b"hello"), PATIENCE_S)
    assert await ask(port) == b""
    writer.close()
    for _ in range(2000):  # until the server noticed that the first is gone
        if await ask(port):
            return
        await asyncio.sleep(0.005)
    raise AssertionError("a connection that closed still counts")
