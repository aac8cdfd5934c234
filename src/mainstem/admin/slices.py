"""Long work on the loop, a slice at a time."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Final

SLICE_S: Final = 0.001


class Slices:
    """`await slices.pause()` between two steps gives the loop to others once the slice is used up."""

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends = perf_counter() + SLICE_S

    async def pause(self) -> None:
        if perf_counter() >= self._ends:
            await asyncio.sleep(0)
            self._ends = perf_counter() + SLICE_S
