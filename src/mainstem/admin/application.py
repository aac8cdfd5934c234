"""The admin interface as an ASGI application: from declared operations to answers.

What every request goes through, in this order: the `Host` it names must be one of this node (so that a
foreign web page cannot reach a node on loopback under a name of its own), the path and method must be
declared, a body must be JSON of the declared form and size, and all of it must be done in a bounded time.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mainstem.admin import broker_pages, groups, quotas, topics, transactions
from mainstem.admin.errors import (
    BAD_REQUEST,
    FORBIDDEN,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    TOO_LARGE,
    UNAUTHORIZED,
    UNAVAILABLE,
    UNSUPPORTED_MEDIA_TYPE,
    Refusal,
    refusal_of,
)
from mainstem.admin.index_page import index_page
from mainstem.admin.node import Node
from mainstem.admin.openapi import document
from mainstem.admin.operations import JSON, OK, Answer, Call, Operation

MAX_BODY_BYTES: Final = 1 << 20
REQUEST_TIMEOUT_S: Final = 60.0
_HTML: Final = "text/html; charset=utf-8"
_LOG = logging.getLogger(__name__)


async def show_index(call: Call) -> Answer:
    return Answer(index_page(call.node, OPERATIONS))


async def show_openapi(call: Call) -> Answer:  # noqa: ARG001
    return Answer(document(OPERATIONS))


OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation("GET", "/", "This page", show_index, {OK: str}, media_type=_HTML),
    Operation(
        "GET", "/openapi.json", "This interface, in OpenAPI's words", show_openapi, {OK: dict[str, Any]}
    ),
    *broker_pages.OPERATIONS,
    *topics.OPERATIONS,
    *quotas.OPERATIONS,
    *groups.OPERATIONS,
    *transactions.OPERATIONS,
)


def make_application(node: Node) -> ASGIApp:
    by_path: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, []).append(operation)
    routes = [Route(path, _Endpoint(node, operations), methods=None) for path, operations in by_path.items()]
    application = Starlette(routes=routes, exception_handlers={HTTPException: _not_found})
    application.router.redirect_slashes = False  # one address for each thing
    return _Guard(application, node)


async def _not_found(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return _refused(
        Refusal(NOT_FOUND, "not_found", f"There is nothing at {request.url.path}.", "/ lists what there is.")
    )


class _Endpoint:
    """All operations of one path."""

    def __init__(self, node: Node, operations: Sequence[Operation]) -> None:
        self._node = node
        self._by_method = {operation.method: operation for operation in operations}
        if "GET" in self._by_method:
            self._by_method["HEAD"] = self._by_method["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._respond(Request(scope, receive))
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        operation = self._by_method.get(request.method)
        if operation is None:
            allowed = ", ".join(sorted(self._by_method))
            refusal = Refusal(
                METHOD_NOT_ALLOWED,
                "method_not_allowed",
                f"{request.method} is not offered here.",
                f"Use {allowed}.",
            )
            response = _refused(refusal)
            response.headers["allow"] = allowed
            return response
        try:
            body = await _read_body(request, operation)
            call = Call(self._node, dict(request.path_params), dict(request.query_params), body)
            return _response(operation, await operation.answer(call))
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError | ClientDisconnect):
                raise
            refusal = refusal_of(error)
            if refusal.status == 500:
                _LOG.exception("%s %s failed", request.method, request.url.path)
            return _refused(refusal)


def _response(operation: Operation, answer: Answer) -> Response:
    content = answer.content
    headers = {"cache-control": "no-store"}
    if answer.location is not None:
        headers["location"] = answer.location
    if isinstance(content, AsyncIterator):
        return StreamingResponse(content, answer.status, headers, operation.media_type)
    if content is None:
        return Response(None, answer.status, headers)
    text = content if isinstance(content, str) else msgspec.json.encode(content)
    return Response(text, answer.status, headers, operation.media_type)


def _refused(refusal: Refusal) -> Response:
    return Response(msgspec.json.encode(refusal.answer), refusal.status, media_type=JSON)


async def _read_body(request: Request, operation: Operation) -> msgspec.Struct | None:
    if operation.body is None:
        return None
    # A page in a browser can send other types to any address; this one it must ask for first, in vain.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Refusal(
            UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "The body must be JSON.",
            f"Send it with Content-Type: {JSON}.",
        )
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise Refusal(
                TOO_LARGE,
                "body_too_large",
                f"The body is larger than {MAX_BODY_BYTES} bytes.",
                "Send less at a time.",
            )
    try:
        return msgspec.json.decode(bytes(body), type=operation.body)
    except msgspec.DecodeError as error:
        raise Refusal(
            BAD_REQUEST, "bad_body", f"{error}.", "/openapi.json describes the body of this request."
        ) from error


class _Guard:
    """Around everything: who is asked for, and how long an answer may take."""

    def __init__(self, application: ASGIApp, node: Node) -> None:
        self._application = application
        self._node = node

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        has_begun = False

        async def send_noted(message: Any) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        refuse = partial(_send_refusal, scope, receive, send)
        host = Request(scope).headers.get("host", "")
        if not is_own_host(host, self._node.listeners.get("admin", ("",))[0]):
            await refuse(
                Refusal(FORBIDDEN, "foreign_host", f"This is not {host}.", "Use the node's own address.")
            )
            return
        if not shows_token(Request(scope).headers.get("authorization", ""), self._node.token):
            await refuse(
                Refusal(
                    UNAUTHORIZED,
                    "no_token",
                    "This interface asks for a token.",
                    "Send the one of admin.token.file: Authorization: Bearer TOKEN.",
                )
            )
            return
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                await self._application(scope, receive, send_noted)
        except TimeoutError:
            if has_begun:
                raise  # the connection closes in the middle of the answer: the peer sees that it is cut
            await refuse(
                Refusal(UNAVAILABLE, "timed_out", "This took too long.", "Try again, or ask for less.")
            )


async def _send_refusal(scope: Scope, receive: Receive, send: Send, refusal: Refusal) -> None:
    response = _refused(refusal)
    if refusal.status == UNAUTHORIZED:
        response.headers["www-authenticate"] = "Bearer"
    await response(scope, receive, send)


def shows_token(authorization: str, token: str | None) -> bool:
    """Whether the header carries the token, or none is asked for."""
    if token is None:
        return True
    scheme, _, shown = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(shown.strip().encode(), token.encode())


def is_own_host(host: str, bound_host: str) -> bool:
    """On loopback only loopback's names are believed; elsewhere the operator chose to be found by others."""
    if not _is_loopback(bound_host):
        return True
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return _is_loopback(name.strip("[]"))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
