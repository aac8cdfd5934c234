"""What can be wrong with a file of the log, and what to do about each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from mainstem.cli.log_files import FileKind

_STAND_IN: Final = "With the broker stopped, delete the file: "
_MADE_ANEW: Final = (
    "With the broker stopped, delete the file, and .kafka_cleanshutdown in the log directory if it is there: "
    "the next start makes it anew from the log."
)
_TORN_TAIL: Final = (
    "If the broker did not stop cleanly this is an append that was not finished and never acknowledged as on "
    "disk: the next start cuts it off by itself."
)
_DAMAGED_LOG: Final = (
    "Records from this offset on are behind the damage. Where another replica has them: stop the broker, "
    "move the partition's folder away, start, and it copies them. Where this is the only copy: save the "
    "folder, then, with the broker stopped, delete .kafka_cleanshutdown and "
    "recovery-point-offset-checkpoint in the log directory; the next start keeps everything before the "
    "damage and nothing after it."
)
_CURES: Final = {
    FileKind.SEGMENT: _DAMAGED_LOG,
    FileKind.OFFSET_INDEX: _MADE_ANEW,
    FileKind.TIME_INDEX: _MADE_ANEW,
    FileKind.TRANSACTION_INDEX: _MADE_ANEW,
    FileKind.SNAPSHOT: _STAND_IN + "an earlier snapshot and the log stand in for it.",
    FileKind.EPOCHS: _STAND_IN + "epochs are learned again from the batches that recovery reads.",
    FileKind.METADATA: "With the broker stopped, write it anew: a line `version: 0` and a line "
    "`topic_id: ID`, with the id that `mainstem topic describe` shows.",
    FileKind.CHECKPOINT: _STAND_IN + "the next start looks at more files instead.",
    FileKind.JOURNAL: "The next start reads the rounds before the damage.",
}


@dataclass(frozen=True, slots=True)
class Damage:
    """The first thing that is wrong with a file."""

    file: str
    kind: FileKind
    position: int | None  # in bytes; None: the file as a whole
    offset: int | None  # the first that is affected, where one can be named
    problem: str
    cure: str

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "kind": self.kind.value}

    def __str__(self) -> str:
        place = self.file
        if self.position is not None:
            place += f" at position {self.position}"
        if self.offset is not None:
            place += f", offset {self.offset}"
        return f"{place}: {self.problem}"


def damage_of(
    path: str,
    kind: FileKind,
    problem: str,
    *,
    position: int | None = None,
    offset: int | None = None,
    is_torn_tail: bool = False,
) -> Damage:
    """`is_torn_tail`: nothing but an unfinished append can be affected."""
    return Damage(path, kind, position, offset, problem, _TORN_TAIL if is_torn_tail else _CURES[kind])
