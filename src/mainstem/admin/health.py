"""Whether the node is alive, and whether it should be sent clients.

*Live* says that the loop runs: who answers at all is alive. *Ready* says that clients are served; what
keeps the node from it is told in words. A warning does not take the node out: the partitions of one
failed directory are offline, all others are served.
"""

from __future__ import annotations

from dataclasses import dataclass

from mainstem.admin.node import Node, Phase


@dataclass(frozen=True, slots=True)
class Readiness:
    reasons: tuple[str, ...]  # why not; empty when ready
    warnings: tuple[str, ...]

    @property
    def is_ready(self) -> bool:
        return not self.reasons


def readiness(node: Node) -> Readiness:
    reasons: list[str] = []
    warnings: list[str] = []
    phase = node.phase()
    if phase is not Phase.SERVING:
        reasons.append(f"the broker is {phase.value}")
    if node.metadata.failure is not None:
        reasons.append(f"metadata is no longer followed: {node.metadata.failure}")
    if not node.membership.epoch:
        reasons.append("the node is not registered in its cluster")
    offline = [
        f"log directory {path} is offline: {reason}" for path, reason in node.directories.offline.items()
    ]
    if node.directories.has_online:
        warnings += offline
    else:
        reasons += offline
    failed = len(node.broker.replicas.failed)
    if failed:
        warnings.append(f"{failed} partitions of this node are offline")
    broken = sum(1 for state in node.broker.groups.shard_states().values() if state == "failed")
    if broken:
        warnings.append(f"{broken} partitions of the group coordinator wait for their storage")
    broken = sum(1 for state in node.broker.transactions.shard_states().values() if state == "failed")
    if broken:
        warnings.append(f"{broken} partitions of the transaction coordinator wait for their storage")
    return Readiness(tuple(reasons), tuple(warnings))
