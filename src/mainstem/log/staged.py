"""What passes between the core and the log on an append."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mainstem.model.batch import BatchHeader, Buffer


class StagedBatch(NamedTuple):
    """A produced batch that passed validation and waits for its offset.

    `body` is the whole batch as it came, header included; base offset and leader epoch in it are
    whatever the producer wrote and are replaced on append.
    """

    body: Buffer
    header: BatchHeader


class AppendOutcome(NamedTuple):
    """What became of one staged batch: written, known from before (`is_duplicate`), or refused."""

    base_offset: int  # -1 when refused
    append_time_ms: int  # -1 unless the topic stamps its own time
    error: Exception | None = None
    is_duplicate: bool = False


@dataclass(slots=True)
class AppendRun:
    """One write to one partition: every batch that one turn of the loop brought for it.

    `buffers` is what went to the file, in order, for the journal to take as well; it is empty when
    every batch was a duplicate or was refused, and then the two offsets are equal.
    """

    first_offset: int
    next_offset: int
    size_bytes: int
    buffers: list[Buffer]
    outcomes: list[AppendOutcome]
