"""What a coordinator's decision is made of."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class Result(Generic[R]):
    """Records to append, and what is to happen once they are appended, and once they are committed.

    The steps, always in this order and each at most once:

    1. the records are appended, all of them in one batch, and replayed;
    2. `applied` runs: volatile state that follows from the records changes here;
    3. when the records, and all that were appended before them, are committed, `settled` runs and then
       `waiter` gets `response`.

    If the append is refused, 1 and 2 do not happen, and step 3 has the error. If the shard is given up
    between 2 and 3, step 3 has the error too. A result without records takes part in step 3 all the same:
    what it says may rest on records that are not committed yet.
    """

    __slots__ = ("applied", "records", "response", "settled", "waiter")

    def __init__(
        self,
        records: Sequence[R] = (),
        *,
        waiter: Future[Any] | None = None,
        response: object = None,
        applied: Callable[[], None] | None = None,
        settled: Callable[[Exception | None], None] | None = None,
    ) -> None:
        self.records = records
        self.waiter = waiter
        self.response = response
        self.applied = applied
        self.settled = settled

    def finish(self, error: Exception | None) -> None:
        if self.settled is not None:
            self.settled(error)
        if self.waiter is not None:
            if error is None:
                answer(self.waiter, self.response)
            else:
                refuse(self.waiter, error)


def answer(waiter: Future[Any], response: object) -> None:
    """Completes a future unless its owner went away or it was completed before."""
    if not waiter.done():
        waiter.set_result(response)


def refuse(waiter: Future[Any], error: Exception) -> None:
    if not waiter.done():
        waiter.set_exception(error)
