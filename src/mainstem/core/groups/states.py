"""The states of a classic group.

Empty                no members; offsets may be there. Also a group that only ever committed offsets.
PreparingRebalance   members are asked to join; who has joined waits for the others
CompletingRebalance  the generation is formed; its leader is to send the assignment
Stable               every member has its assignment, and the log has it
Dead                 deleted, or led elsewhere: whoever still holds it must look for the coordinator again

Empty -> PreparingRebalance -> CompletingRebalance -> Stable -> PreparingRebalance ...
              |      ^------------------'
              '-> Empty (nobody came)                  any state -> Dead
"""

from __future__ import annotations

import enum
from typing import Final


class GroupState(enum.Enum):
    """The values are the names that clients and tools see."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


ALLOWED_FROM: Final[dict[GroupState, frozenset[GroupState]]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING}),
    GroupState.PREPARING: frozenset({GroupState.EMPTY, GroupState.COMPLETING, GroupState.STABLE}),
    GroupState.COMPLETING: frozenset({GroupState.PREPARING}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING}),
    GroupState.DEAD: frozenset(GroupState),
}
