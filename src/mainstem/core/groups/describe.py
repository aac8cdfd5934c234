"""What a tool sees of a group."""

from __future__ import annotations

from collections.abc import Collection

from mainstem.core.groups.group import Group
from mainstem.core.groups.requests import GroupDescription, GroupSummary, MemberDescription
from mainstem.core.groups.states import GroupState

CLASSIC_TYPE = "classic"


def describe(group_id: str, group: Group | None) -> GroupDescription:
    """The protocol and what it carries only while the group is stable: before, they are of no generation.

    What members were assigned is shown in between too: in a rebalance they may well go on reading it.
    """
    if group is None:
        return GroupDescription(group_id, GroupState.DEAD.value, "", "", (), exists=False)
    is_stable = group.state is GroupState.STABLE
    members = tuple(
        MemberDescription(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.metadata(group.protocol) if is_stable else b"",
            member.assignment,
        )
        for member in group.members.values()
    )
    protocol = (group.protocol or "") if is_stable else ""
    return GroupDescription(group_id, group.state.value, group.protocol_type or "", protocol, members)


def summarize(group: Group) -> GroupSummary:
    return GroupSummary(group.group_id, group.protocol_type or "", group.state.value, CLASSIC_TYPE)


def matches(group: Group, states: Collection[str], types: Collection[str]) -> bool:
    """Filters are in lower case; an empty one lets everything through."""
    return (not states or group.state.value.lower() in states) and (not types or CLASSIC_TYPE in types)
