"""Answers in the order of their requests, whatever the order in which they become known.

A place is reserved when a request arrives; its parts come whenever they come. All answers that are ready
when the turn ends, or when nothing else is waited for, leave in one write.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from mainstem.heads.session import Part, PendingAnswer


class Sender(Protocol):
    """Gets parts onto the wire in order, without blocking."""

    pending_bytes: int  # memory held by what could not be sent yet

    @property
    def is_idle(self) -> bool: ...

    def send(self, parts: Sequence[Part]) -> None: ...

    def close(self) -> None: ...


class Outbox:
    __slots__ = ("_is_scheduled", "_loop", "_order", "_ready", "_sender", "is_corked")

    def __init__(self, loop: asyncio.AbstractEventLoop, sender: Sender) -> None:
        self._loop = loop
        self._sender = sender
        self._order: deque[PendingAnswer] = deque()
        self._ready: list[Part] = []
        self._is_scheduled = False
        self.is_corked = False  # while requests are being read: their answers leave together

    @property
    def is_empty(self) -> bool:
        return not self._order and not self._ready and self._sender.is_idle

    @property
    def is_awaiting(self) -> bool:
        return bool(self._order)

    def reserve(self, answer: PendingAnswer) -> None:
        self._order.append(answer)

    def answered(self) -> None:
        order = self._order
        if not order or order[0].parts is None:
            return
        ready = self._ready
        while order and (parts := order[0].parts) is not None:
            order.popleft()
            ready += parts
        if self.is_corked or not ready:
            return
        if not order:
            self.flush()
        elif not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        self._is_scheduled = False
        if self._ready:
            ready, self._ready = self._ready, []
            self._sender.send(ready)

    def close(self) -> None:
        self._order.clear()
        self._ready.clear()
        self._sender.close()
