"""The table of APIs is checked when it is imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mainstem.heads.kafka.api_list import COLD_APIS
from mainstem.heads.kafka.dispatch import check_handlers
from mainstem.heads.kafka.handler import Handler


async def handle(*_: Any) -> Any: ...


@pytest.mark.parametrize(
    ("handlers", "problem"),
    [
        ([Handler(12345, 0, 0, handle)], "no API"),
        ([Handler(12, 0, 1, handle), Handler(12, 2, 3, handle)], "two handlers"),
        ([Handler(12, 0, 5, handle)], "versions"),
        ([Handler(2, 0, 5, handle)], "versions"),
        ([Handler(12, 3, 2, handle)], "versions"),
    ],
)
def test_a_handler_that_cannot_be_is_named(handlers: Sequence[Handler], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        check_handlers(handlers)


def test_all_that_are_listed_can_be() -> None:
    check_handlers(COLD_APIS)
