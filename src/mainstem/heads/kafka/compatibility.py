"""Writes docs/kafka-compatibility.md: `python -m mainstem.heads.kafka.compatibility [FILE]`.

What is served, in which versions, is read from the table that requests are dispatched by. What differs is
said beside each handler, in its `remarks`. Why an API is not served is said here, for there is no handler.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from mainstem.heads.kafka import fetch, produce
from mainstem.heads.kafka.api_list import COLD_APIS
from mainstem.heads.kafka.apis import api_versions
from mainstem.wire.kafka.apis import APIS, KAFKA_APIS, OWN_APIS

_FILE: Final = "docs/kafka-compatibility.md"

_INTRODUCTION: Final = """\
# Which of Kafka's APIs are served

<!-- Written by `python -m mainstem.heads.kafka.compatibility` from src/mainstem/heads/kafka. Change that. -->

Kafka's numbers are those of Kafka 4.3, without unstable versions. An API that is not served is not
advertised either: clients see that before they ask.

- **yes**: the same versions, and what a client can see of it is the same,
- **partly**: served, with the differences named,
- **not yet**: part of the plan, and not built,
- **no**: not part of the plan, for the reason named.
"""

_NEW_GROUPS: Final = (
    "Groups are of the classic protocol; clients use the newer one only where it is asked for."
)
_SHARE_GROUPS: Final = "There are no share groups yet."
_NO_TOKENS: Final = "Delegation tokens are not planned: log in with a password or a certificate."
_NO_QUORUM: Final = "Metadata are in a store (SQLite), not in a quorum of Kafka's controllers."
_STREAMS_GROUPS: Final = "Streams applications use the classic protocol, which is served."
_NO_TELEMETRY: Final = "The broker takes no metrics from clients; a client notices and sends none."

NOT_YET: Final[Mapping[int, str]] = {
    34: "A replica stays in the log directory that it was made in; new ones go where the fewest are.",
    64: "A node leaves the cluster by itself: its registration ends with it.",
    68: _NEW_GROUPS,
    69: _NEW_GROUPS,
    76: _SHARE_GROUPS,
    77: _SHARE_GROUPS,
    78: _SHARE_GROUPS,
    79: _SHARE_GROUPS,
    90: _SHARE_GROUPS,
    91: _SHARE_GROUPS,
    92: _SHARE_GROUPS,
}
NEVER: Final[Mapping[int, str]] = {
    38: _NO_TOKENS,
    39: _NO_TOKENS,
    40: _NO_TOKENS,
    41: _NO_TOKENS,
    55: _NO_QUORUM,
    71: _NO_TELEMETRY,
    72: _NO_TELEMETRY,
    80: _NO_QUORUM,
    81: _NO_QUORUM,
    83: "Share groups will keep their state as all other groups do, without an API of its own.",
    84: "As InitializeShareGroupState.",
    85: "As InitializeShareGroupState.",
    86: "As InitializeShareGroupState.",
    87: "As InitializeShareGroupState.",
    88: _STREAMS_GROUPS,
    89: _STREAMS_GROUPS,
}


_REMOVED: Final = "Kafka 4.0 has removed it."
_QUORUM: Final = "The metadata store keeps its own quorum, where it has one."
_REGISTRATION: Final = "A node registers in the metadata store, under a lease that it keeps alive."
INTERNAL: Final[Mapping[int, tuple[str, str]]] = {
    4: ("LeaderAndIsr", _REMOVED),
    5: ("StopReplica", _REMOVED),
    6: ("UpdateMetadata", _REMOVED),
    7: ("ControlledShutdown", _REMOVED),
    52: ("Vote", _QUORUM),
    53: ("BeginQuorumEpoch", _QUORUM),
    54: ("EndQuorumEpoch", _QUORUM),
    56: ("AlterPartition", "In-sync sets are entries of the metadata store."),
    58: ("Envelope", "Every node answers clients for itself; none forwards their requests."),
    59: ("FetchSnapshot", "A node that starts reads the metadata store as a whole."),
    62: ("BrokerRegistration", _REGISTRATION),
    63: ("BrokerHeartbeat", _REGISTRATION),
    67: ("AllocateProducerIds", "Blocks of producer ids are taken from the metadata store."),
    70: ("ControllerRegistration", _REGISTRATION),
    73: ("AssignReplicasToDirs", "A node finds its partitions in its directories by itself."),
    82: ("UpdateRaftVoter", _QUORUM),
}


class ServedApi(NamedTuple):
    key: int
    min_version: int
    max_version: int
    remarks: str


def served_apis() -> dict[int, ServedApi]:
    hot = (
        ServedApi(each.KEY, each.MIN_VERSION, each.MAX_VERSION, each.REMARKS)
        for each in (api_versions, produce, fetch)
    )
    cold = (ServedApi(each.key, each.min_version, each.max_version, each.remarks) for each in COLD_APIS)
    return {api.key: api for api in sorted((*hot, *cold))}


def compatibility_page() -> str:
    """The whole of docs/kafka-compatibility.md."""
    return "\n".join([_INTRODUCTION, *_table(), *_internal_table(), *_own_table()]) + "\n"


def _internal_table() -> Iterator[str]:
    yield ""
    yield "## What brokers and controllers of Kafka ask each other"
    yield ""
    yield "No client sends these, and nothing here needs them: nodes agree through the metadata store."
    yield ""
    yield "| key | API | status | instead |"
    yield "| --- | --- | --- | --- |"
    for key, (name, instead) in INTERNAL.items():
        yield f"| {key} | {name} | no | {instead} |"


def _own_table() -> Iterator[str]:
    yield ""
    yield "## APIs of our own"
    yield ""
    yield "Clients that do not know a key pass over it. These serve clients that use what only Mainstem has."
    yield ""
    yield "| key | API | versions | what it is |"
    yield "| --- | --- | --- | --- |"
    served = served_apis()
    for key, schema in OWN_APIS.items():
        api = served[key]
        yield f"| {key} | {schema.name} | {_versions(api.min_version, api.max_version)} | {api.remarks} |"


def _table() -> Iterator[str]:
    yield "| key | API | versions here | Kafka 4.3 | status | what differs, and why |"
    yield "| --- | --- | --- | --- | --- | --- |"
    served = served_apis()
    for key, schema in KAFKA_APIS.items():
        theirs = _versions(schema.min_version, schema.max_version)
        api = served.get(key)
        if api is not None:
            ours = _versions(api.min_version, api.max_version)
            remarks = " ".join(part for part in (api.remarks, _missing(api)) if part)
            status = "partly" if remarks else "yes"
        else:
            ours = "–"
            status = "not yet" if key in NOT_YET else "no"
            remarks = NOT_YET[key] if key in NOT_YET else NEVER[key]
        yield f"| {key} | {schema.name} | {ours} | {theirs} | {status} | {remarks} |"


def _missing(api: ServedApi) -> str:
    schema = APIS[api.key]
    below = (
        f"{_versions(schema.min_version, api.min_version - 1)}"
        if api.min_version > schema.min_version
        else ""
    )
    above = (
        f"{_versions(api.max_version + 1, schema.max_version)}"
        if api.max_version < schema.max_version
        else ""
    )
    missing = " and ".join(part for part in (below, above) if part)
    return f"Versions {missing} are not served." if missing else ""


def _versions(lowest: int, highest: int) -> str:
    return str(lowest) if lowest == highest else f"{lowest}–{highest}"


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else _FILE)
    target.write_text(compatibility_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
