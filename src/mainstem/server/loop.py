"""Which event loop drives the server."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from importlib.util import find_spec
from typing import Any, Literal, TypeVar

T = TypeVar("T")
LoopKind = Literal["auto", "uvloop", "asyncio"]


def new_event_loop(kind: LoopKind = "auto") -> asyncio.AbstractEventLoop:
    """`auto` takes uvloop where it is installed; asking for it by name makes its absence an error."""
    if kind == "uvloop" or (kind == "auto" and find_spec("uvloop") is not None):
        import uvloop

        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        return loop
    return asyncio.SelectorEventLoop()


def run(main: Coroutine[Any, Any, T], kind: LoopKind = "auto") -> T:
    with asyncio.Runner(loop_factory=lambda: new_event_loop(kind)) as runner:
        return runner.run(main)
