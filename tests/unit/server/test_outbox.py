"""Answers leave in the order of their requests, and those of a turn together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mainstem.heads.session import Part
from mainstem.server.outbox import Outbox


class Answer:
    parts: Sequence[Part] | None = None


class KeptSender:
    def __init__(self) -> None:
        self.pending_bytes = 0
        self.is_idle = True
        self.is_closed = False
        self.writes: list[bytes] = []

    def send(self, parts: Sequence[Part]) -> None:
        self.writes.append(b"".join(bytes(part) for part in parts))  # type: ignore[arg-type]

    def close(self) -> None:
        self.is_closed = True


def outbox_with(count: int) -> tuple[Outbox, KeptSender, list[Answer]]:
    sender = KeptSender()
    outbox = Outbox(asyncio.get_running_loop(), sender)
    answers = [Answer() for _ in range(count)]
    for answer in answers:
        outbox.reserve(answer)
    return outbox, sender, answers


def give(outbox: Outbox, answer: Answer, *parts: bytes) -> None:
    answer.parts = parts
    outbox.answered()


async def test_the_last_answer_that_is_waited_for_leaves_at_once() -> None:
    outbox, sender, [only] = outbox_with(1)
    give(outbox, only, b"a", b"b")
    assert sender.writes == [b"ab"]
    assert outbox.is_empty


async def test_an_answer_waits_for_those_before_it() -> None:
    outbox, sender, [first, second, third] = outbox_with(3)
    give(outbox, third, b"3")
    give(outbox, second, b"2")
    await asyncio.sleep(0)
    assert sender.writes == []
    assert outbox.is_awaiting
    give(outbox, first, b"1")
    assert sender.writes == [b"123"]


async def test_answers_of_one_turn_leave_together_while_others_are_waited_for() -> None:
    outbox, sender, answers = outbox_with(3)
    give(outbox, answers[0], b"1")
    give(outbox, answers[1], b"2")
    assert sender.writes == []
    await asyncio.sleep(0)
    assert sender.writes == [b"12"]


async def test_corked_it_keeps_everything_until_it_is_flushed() -> None:
    outbox, sender, answers = outbox_with(2)
    outbox.is_corked = True
    for number, answer in enumerate(answers):
        give(outbox, answer, b"%d" % number)
    await asyncio.sleep(0)
    assert sender.writes == []
    assert not outbox.is_empty
    outbox.is_corked = False
    outbox.flush()
    assert sender.writes == [b"01"]


async def test_an_answer_of_no_parts_sends_nothing_and_holds_nobody_up() -> None:
    outbox, sender, [first, second] = outbox_with(2)
    give(outbox, first)
    give(outbox, second, b"2")
    assert sender.writes == [b"2"]


async def test_closed_it_forgets() -> None:
    outbox, sender, [first, second] = outbox_with(2)
    give(outbox, first, b"1")
    outbox.close()
    give(outbox, second, b"2")
    await asyncio.sleep(0)
    assert sender.writes == []
    assert sender.is_closed


@given(order=st.permutations(range(8)), corked=st.booleans())
def test_in_whatever_order_they_come(order: list[int], corked: bool) -> None:
    async def main() -> None:
        outbox, sender, answers = outbox_with(8)
        outbox.is_corked = corked
        for number in order:
            give(outbox, answers[number], b"%d" % number)
        outbox.is_corked = False
        outbox.flush()
        await asyncio.sleep(0)
        assert b"".join(sender.writes) == b"01234567"

    asyncio.run(main())
