"""Every API that this broker serves: a module named here is dispatched to and advertised, no other is."""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.apis import (
    alter_configs,
    alter_partition_reassignments,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_topic_partitions,
    elect_leaders,
    heartbeat,
    incremental_alter_configs,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_partition_reassignments,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from mainstem.heads.kafka.handler import Handler

COLD_APIS: Final[tuple[Handler, ...]] = (
    offset_commit.HANDLER,
    offset_fetch.HANDLER,
    join_group.HANDLER,
    heartbeat.HANDLER,
    leave_group.HANDLER,
    sync_group.HANDLER,
    describe_groups.HANDLER,
    list_groups.HANDLER,
    create_topics.HANDLER,
    delete_topics.HANDLER,
    delete_records.HANDLER,
    describe_configs.HANDLER,
    alter_configs.HANDLER,
    describe_log_dirs.HANDLER,
    create_partitions.HANDLER,
    delete_groups.HANDLER,
    elect_leaders.HANDLER,
    incremental_alter_configs.HANDLER,
    alter_partition_reassignments.HANDLER,
    list_partition_reassignments.HANDLER,
    offset_delete.HANDLER,
    describe_cluster.HANDLER,
    list_config_resources.HANDLER,
    describe_topic_partitions.HANDLER,
)
