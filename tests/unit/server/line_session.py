"""A head of a few words, for the tests of the server: each line is a request, and says what becomes of it.

say X        answered with X at once
later X      answered with X when the test says so
file A B     answered with the bytes A to B of the file that the test names
wait X       as later, and a stop need not wait for it
break        the session raises
bye X        answered with X, then closed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mainstem.heads.session import Channel, Part
from mainstem.log.log_slice import LogSlice
from mainstem.ports.disk import RealDisk


@dataclass(eq=False)
class Answer:
    parts: Sequence[Part] | None = None
    text: bytes = b""
    is_long: bool = False


@dataclass
class LineHead:
    """What all connections of a test share."""

    path: str = ""
    sessions: list[LineSession] = field(default_factory=list)

    def new_session(self, channel: Channel) -> LineSession:
        session = LineSession(self, channel)
        self.sessions.append(session)
        return session


class LineSession:
    def __init__(self, head: LineHead, channel: Channel) -> None:
        self.head = head
        self.channel = channel
        self.pending: list[Answer] = []
        self.lines: list[bytes] = []
        self.is_closed = False
        self.was_congested = 0
        self._rest = b""
        self._is_draining = False

    def get_buffer(self) -> memoryview:
        return self.channel.buffers.shared

    def received(self, count: int) -> None:
        *lines, self._rest = (self._rest + bytes(self.channel.buffers.shared[:count])).split(b"\n")
        self.lines += lines
        self._go_on()

    def uncongested(self) -> None:
        self.channel.resume()
        self._go_on()

    def _go_on(self) -> None:
        while self.lines and not self._is_draining:
            if self.channel.is_congested:
                self.was_congested += 1
                self.channel.pause()
                return
            self._serve(self.lines.pop(0))
            self.channel.flush()

    def _serve(self, line: bytes) -> None:
        word, _, text = line.partition(b" ")
        if word == b"break":
            raise RuntimeError("as asked")
        answer = Answer(text=text, is_long=word == b"wait")
        self.channel.reserve(answer)
        if word in (b"say", b"bye"):
            self._answer(answer, (text + b"\n",))
        elif word == b"file":
            start, end = map(int, text.split())
            self._answer(answer, (b"<", LogSlice(RealDisk().open(self.head.path), start, end - start), b">"))
        else:
            self.pending.append(answer)
        if word == b"bye":
            self.lines.clear()
            self.channel.close()

    def _answer(self, answer: Answer, parts: Sequence[Part]) -> None:
        answer.parts = parts
        self.channel.answered()

    def finish(self, number: int = 0) -> None:
        answer = self.pending.pop(number)
        self._answer(answer, (answer.text + b"\n",))
        if self._is_draining:
            self._close_if_drained()

    def drain(self) -> None:
        self._is_draining = True
        self.channel.pause()
        self._close_if_drained()

    def _close_if_drained(self) -> None:
        if all(answer.is_long for answer in self.pending):
            self.channel.close()

    def closed(self) -> None:
        self.is_closed = True

    @property
    def is_busy(self) -> bool:
        return bool(self.pending)
