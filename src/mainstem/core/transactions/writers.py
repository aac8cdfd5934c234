"""The name of a transactional id's writer: what it carries in braces at its start.

    {orders-to-lake}7f3a    belongs to the writer orders-to-lake
    orders-to-lake          belongs to nobody

All ids of a writer are coordinated on one partition of `__transaction_state`: they are hashed by the writer
alone. One record there can then decide on all of them. A client need not know the rule: it asks
FindCoordinator for the id, or for the writer in its braces, and is sent to the same node.
"""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import InvalidRequest

MAX_WRITER_LENGTH: Final = 5_000


def writer_of(transactional_id: str) -> str | None:
    if not transactional_id.startswith("{"):
        return None
    end = transactional_id.find("}")
    return transactional_id[1:end] if end > 1 else None


def routing_part(transactional_id: str) -> str:
    """What is hashed, and what decisions must see each other by."""
    writer = writer_of(transactional_id)
    return transactional_id if writer is None else writer_key(writer)


def writer_key(writer: str) -> str:
    """The id that stands for all of the writer's."""
    return "{" + writer + "}"


def check_writer(writer: str) -> None:
    if not writer or "}" in writer:
        raise InvalidRequest("a writer's name is not empty and has no closing brace")
    if len(writer) > MAX_WRITER_LENGTH:
        raise InvalidRequest(f"a writer's name has at most {MAX_WRITER_LENGTH} characters")
