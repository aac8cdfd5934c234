"""What each API asks for, exactly as Apache Kafka 4 does: the one table.

An API that is dispatched and not named here stops the broker at its start: nothing is served unchecked by
mistake. `python -m mainstem.heads.kafka.authorization.page` writes the table into docs/authorization.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mainstem.core.identity.acl import Operation, ResourceType
from mainstem.heads.kafka.authorization import groups, topics, transactions
from mainstem.heads.kafka.authorization.check import (
    Check,
    each,
    named,
    on_cluster,
    on_group,
    on_options,
    on_topic,
    on_transactional_id,
    whole,
)
from mainstem.wire.kafka.apis import APIS

_DESCRIBE, _ALTER, _READ, _WRITE = Operation.DESCRIBE, Operation.ALTER, Operation.READ, Operation.WRITE


def _cluster(operation: Operation) -> Check:
    words = operation.name.replace("_", " ").title().replace(" ", "")
    return Check(f"{words} on the cluster", whole(on_cluster(operation)))


_IN_GROUP: Final = Check("Read on the group", whole(on_group(_READ)))

CHECKS: Final[Mapping[int, Check]] = {
    0: Check("Write on each topic; Write on the transactional id, if there is one"),  # in produce.py
    1: Check("Read on each topic"),  # in fetch.py
    2: Check("Describe on each topic", each("topics", on_topic(_DESCRIBE), "topics")),
    3: Check(
        "Describe on each topic; to bring one into being also Create on it or on the cluster", topics.metadata
    ),
    8: Check("Read on the group, and on each topic", groups.offset_commit),
    9: Check("Describe on each group, and on each topic", groups.offset_fetch),
    10: Check("Describe on each group or transactional id", groups.find_coordinator),
    11: _IN_GROUP,
    12: _IN_GROUP,
    13: _IN_GROUP,
    14: _IN_GROUP,
    15: Check("Describe on each group", each("groups", named(_DESCRIBE, ResourceType.GROUP), "groups")),
    16: Check("Describe on the cluster; else groups with Describe are listed", groups.list_groups),
    17: Check("nothing"),
    18: Check("nothing"),
    19: Check(
        "Create on the cluster, or on each topic; DescribeConfigs on a topic to be told its configuration",
        topics.create_topics,
    ),
    20: Check("Delete on the cluster, or on each topic", topics.delete_topics),
    21: Check("Delete on each topic", each("topics", on_topic(Operation.DELETE), "topics")),
    22: Check(
        "Write on the transactional id; without one, Write on some topic or IdempotentWrite on the cluster",
        transactions.init_producer_id,
    ),
    23: Check("Describe on each topic, or ClusterAction", transactions.offset_for_leader_epoch),
    24: Check(
        "Write on the transactional id and on each topic; from version 4 on ClusterAction on the cluster",
        transactions.add_partitions_to_txn,
    ),
    25: Check(
        "Write on the transactional id, Read on the group",
        whole(on_transactional_id(_WRITE), on_group(_READ)),
    ),
    26: Check("Write on the transactional id", whole(on_transactional_id(_WRITE))),
    27: Check("Alter or ClusterAction on the cluster", transactions.write_txn_markers),
    28: Check(
        "Write on the transactional id, Read on the group and on each topic",
        each("topics", on_topic(_READ), "topics", on_transactional_id(_WRITE), on_group(_READ)),
    ),
    29: _cluster(_DESCRIBE),
    30: _cluster(_ALTER),
    31: _cluster(_ALTER),
    32: Check(
        "DescribeConfigs on each topic or group, else on the cluster",
        each("resources", on_options(Operation.DESCRIBE_CONFIGS), "results"),
    ),
    33: Check(
        "AlterConfigs on each topic or group, else on the cluster",
        each("resources", on_options(Operation.ALTER_CONFIGS), "responses"),
    ),
    34: _cluster(_ALTER),
    35: _cluster(_DESCRIBE),
    36: Check("nothing"),
    37: Check("Alter on each topic", each("topics", on_topic(_ALTER), "results")),
    42: Check(
        "Delete on each group",
        each("groups_names", named(Operation.DELETE, ResourceType.GROUP), "results"),
    ),
    43: _cluster(_ALTER),
    44: Check(
        "AlterConfigs on each topic or group, else on the cluster",
        each("resources", on_options(Operation.ALTER_CONFIGS), "responses"),
    ),
    45: _cluster(_ALTER),
    46: _cluster(_DESCRIBE),
    47: Check("Delete on the group, Read on each topic", groups.offset_delete),
    48: _cluster(Operation.DESCRIBE_CONFIGS),
    49: _cluster(Operation.ALTER_CONFIGS),
    50: _cluster(_DESCRIBE),
    51: _cluster(_ALTER),
    57: _cluster(_ALTER),
    60: Check("nothing; Describe on the cluster to be told the operations on it"),
    61: Check("Read on each topic", each("topics", on_topic(_READ), "topics")),
    65: Check("Describe on each transactional id", transactions.describe_transactions),
    66: Check("nothing; transactional ids with Describe are listed", transactions.list_transactions),
    74: _cluster(Operation.DESCRIBE_CONFIGS),
    75: Check("Describe on each topic", each("topics", on_topic(_DESCRIBE), "topics")),
    10000: Check("Write on the transactional id", whole(on_transactional_id(_WRITE))),
    10001: Check("Write on the transactional id `{writer}`", whole(transactions.on_writer(_WRITE))),
    10002: Check(
        "Describe on each transactional id `{writer}`; in a list of all those with it are listed",
        transactions.describe_transaction_writers,
    ),
}


def check_table(keys: Iterable[int]) -> None:
    """Raises where an API is to be served that nobody said what to ask for."""
    for key in keys:
        if key not in CHECKS:
            raise ValueError(f"{APIS[key].name} is served, and authorization/table.py has no line of it")
