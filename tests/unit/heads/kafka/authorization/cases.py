"""For each API a request, and the permissions that it needs: what is missing, and what is then answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mainstem.core.identity.acl import CLUSTER_NAME, Operation, ResourceType
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.model.records import NewRecord, build_batch
from mainstem.wire.kafka.extensions import (
    decide_transactions,
    describe_transaction_writers,
    prepare_transaction,
)
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_user_scram_credentials,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
    txn_offset_commit,
    update_features,
    write_txn_markers,
)

TOPIC, GROUP, TRANSACTIONAL_ID = "orders", "billing", "shop"
TIMEOUT_MS = 10_000

AUTHORIZATION_CODES = frozenset(
    (
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )
)


class Need(NamedTuple):
    operation: Operation
    type: ResourceType
    name: str
    code: ErrorCode


class Case(NamedTuple):
    name: str
    request: Callable[[bytes], Message]  # for the id of the topic
    versions: tuple[int, ...]
    needs: tuple[Need, ...]


def topic(operation: Operation, name: str = TOPIC) -> Need:
    return Need(operation, ResourceType.TOPIC, name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def group(operation: Operation) -> Need:
    return Need(operation, ResourceType.GROUP, GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED)


def cluster(operation: Operation) -> Need:
    return Need(operation, ResourceType.CLUSTER, CLUSTER_NAME, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def transactional_id(operation: Operation, name: str = TRANSACTIONAL_ID) -> Need:
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return Need(operation, ResourceType.TRANSACTIONAL_ID, name, code)


def case(request: Message, versions: tuple[int, ...], *needs: Need, name: str = "") -> Case:
    title = type(request).__name__.removesuffix("Request")
    return Case(f"{title} {name}".strip(), lambda _: request, versions, needs)


O = Operation  # noqa: E741 - short, as the table is to be read
BATCH = build_batch([NewRecord(b"k", b"v", timestamp_ms=0)])

_PRODUCED = [
    produce.TopicProduceData(
        name=TOPIC, partition_data=[produce.PartitionProduceData(index=0, records=BATCH)]
    )
]


def _produce_by_id(topic_id: bytes) -> Message:
    data = produce.TopicProduceData(
        topic_id=topic_id, partition_data=[produce.PartitionProduceData(index=0, records=BATCH)]
    )
    return produce.ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[data])


def _fetch_by_id(topic_id: bytes) -> Message:
    asked = fetch.FetchTopic(topic_id=topic_id, partitions=[fetch.FetchPartition(partition=0)])
    return fetch.FetchRequest(max_wait_ms=0, session_epoch=-1, topics=[asked])


def _metadata_by_id(topic_id: bytes) -> Message:
    return metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=None, topic_id=topic_id)])


def _commit_by_id(topic_id: bytes) -> Message:
    asked = offset_commit.OffsetCommitRequestTopic(
        topic_id=topic_id, partitions=[offset_commit.OffsetCommitRequestPartition()]
    )
    return offset_commit.OffsetCommitRequest(group_id=GROUP, topics=[asked])


def _offsets_by_id(topic_id: bytes) -> Message:
    asked = offset_fetch.OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0])
    return offset_fetch.OffsetFetchRequest(
        groups=[offset_fetch.OffsetFetchRequestGroup(group_id=GROUP, topics=[asked])]
    )


def _delete_by_id(topic_id: bytes) -> Message:
    return delete_topics.DeleteTopicsRequest(
        topics=[delete_topics.DeleteTopicState(name=None, topic_id=topic_id)], timeout_ms=TIMEOUT_MS
    )


def _configs(kind: int, name: str) -> list[describe_configs.DescribeConfigsResource]:
    return [describe_configs.DescribeConfigsResource(resource_type=kind, resource_name=name)]


BY_NAME = (
    case(
        produce.ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=_PRODUCED),
        (3, 8, 12),
        topic(O.WRITE),
    ),
    case(
        fetch.FetchRequest(
            max_wait_ms=0,
            session_epoch=-1,
            topics=[fetch.FetchTopic(topic=TOPIC, partitions=[fetch.FetchPartition(partition=0)])],
        ),
        (4, 12),
        topic(O.READ),
    ),
    case(
        list_offsets.ListOffsetsRequest(
            topics=[
                list_offsets.ListOffsetsTopic(
                    name=TOPIC, partitions=[list_offsets.ListOffsetsPartition(timestamp=-1)]
                )
            ]
        ),
        (1, 11),
        topic(O.DESCRIBE),
    ),
    case(
        metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=TOPIC)]),
        (0, 4, 12),
        topic(O.DESCRIBE),
    ),
    case(
        metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name="not there yet")]),
        (4, 12),
        topic(O.DESCRIBE, "not there yet"),
        topic(O.CREATE, "not there yet"),
        name="of a topic to be made",
    ),
    case(
        offset_commit.OffsetCommitRequest(
            group_id=GROUP,
            topics=[
                offset_commit.OffsetCommitRequestTopic(
                    name=TOPIC, partitions=[offset_commit.OffsetCommitRequestPartition()]
                )
            ],
        ),
        (2, 9),
        group(O.READ),
        topic(O.READ),
    ),
    case(
        offset_fetch.OffsetFetchRequest(
            group_id=GROUP,
            topics=[offset_fetch.OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])],
        ),
        (2, 7),
        group(O.DESCRIBE),
        topic(O.DESCRIBE),
    ),
    case(
        offset_fetch.OffsetFetchRequest(
            groups=[
                offset_fetch.OffsetFetchRequestGroup(
                    group_id=GROUP,
                    topics=[offset_fetch.OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])],
                )
            ]
        ),
        (8, 9),
        group(O.DESCRIBE),
        topic(O.DESCRIBE),
        name="of several groups",
    ),
    case(find_coordinator.FindCoordinatorRequest(key=GROUP), (0, 3), group(O.DESCRIBE)),
    case(
        find_coordinator.FindCoordinatorRequest(coordinator_keys=[GROUP]),
        (4, 6),
        group(O.DESCRIBE),
        name="of several groups",
    ),
    case(
        join_group.JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[join_group.JoinGroupRequestProtocol(name="range")],
        ),
        (4, 9),
        group(O.READ),
    ),
    case(heartbeat.HeartbeatRequest(group_id=GROUP), (0, 4), group(O.READ)),
    case(
        leave_group.LeaveGroupRequest(group_id=GROUP, members=[leave_group.MemberIdentity(member_id="m")]),
        (3, 5),
        group(O.READ),
    ),
    case(
        sync_group.SyncGroupRequest(group_id=GROUP, protocol_type="consumer", protocol_name="range"),
        (0, 5),
        group(O.READ),
    ),
    case(describe_groups.DescribeGroupsRequest(groups=[GROUP]), (0, 6), group(O.DESCRIBE)),
    case(delete_groups.DeleteGroupsRequest(groups_names=[GROUP]), (0, 2), group(O.DELETE)),
    case(
        create_topics.CreateTopicsRequest(
            topics=[create_topics.CreatableTopic(name="new", num_partitions=1, replication_factor=1)],
            validate_only=True,
            timeout_ms=TIMEOUT_MS,
        ),
        (2, 7),
        topic(O.CREATE, "new"),
        topic(O.DESCRIBE_CONFIGS, "new"),
    ),
    case(
        create_partitions.CreatePartitionsRequest(
            topics=[create_partitions.CreatePartitionsTopic(name=TOPIC, count=5, assignments=None)],
            timeout_ms=TIMEOUT_MS,
            validate_only=True,
        ),
        (0, 3),
        topic(O.ALTER),
    ),
    case(
        delete_records.DeleteRecordsRequest(
            topics=[
                delete_records.DeleteRecordsTopic(
                    name=TOPIC,
                    partitions=[delete_records.DeleteRecordsPartition(partition_index=0, offset=0)],
                )
            ],
            timeout_ms=TIMEOUT_MS,
        ),
        (0, 2),
        topic(O.DELETE),
    ),
    case(
        offset_for_leader_epoch.OffsetForLeaderEpochRequest(
            replica_id=-1,
            topics=[
                offset_for_leader_epoch.OffsetForLeaderTopic(
                    topic=TOPIC, partitions=[offset_for_leader_epoch.OffsetForLeaderPartition()]
                )
            ],
        ),
        (2, 4),
        topic(O.DESCRIBE),
    ),
    case(
        describe_topic_partitions.DescribeTopicPartitionsRequest(
            topics=[describe_topic_partitions.TopicRequest(name=TOPIC)]
        ),
        (0,),
        topic(O.DESCRIBE),
    ),
    case(
        offset_delete.OffsetDeleteRequest(
            group_id=GROUP,
            topics=[
                offset_delete.OffsetDeleteRequestTopic(
                    name=TOPIC, partitions=[offset_delete.OffsetDeleteRequestPartition()]
                )
            ],
        ),
        (0,),
        group(O.DELETE),
        topic(O.READ),
    ),
)

OPTIONS = (
    case(
        describe_configs.DescribeConfigsRequest(resources=_configs(2, TOPIC)),
        (1, 4),
        topic(O.DESCRIBE_CONFIGS),
        name="of a topic",
    ),
    case(
        describe_configs.DescribeConfigsRequest(resources=_configs(32, GROUP)),
        (4,),
        group(O.DESCRIBE_CONFIGS),
        name="of a group",
    ),
    case(
        describe_configs.DescribeConfigsRequest(resources=_configs(4, "1")),
        (4,),
        cluster(O.DESCRIBE_CONFIGS),
        name="of a broker",
    ),
    case(
        alter_configs.AlterConfigsRequest(
            resources=[alter_configs.AlterConfigsResource(resource_type=2, resource_name=TOPIC)],
            validate_only=True,
        ),
        (0, 2),
        topic(O.ALTER_CONFIGS),
        name="of a topic",
    ),
    case(
        incremental_alter_configs.IncrementalAlterConfigsRequest(
            resources=[incremental_alter_configs.AlterConfigsResource(resource_type=2, resource_name=TOPIC)],
            validate_only=True,
        ),
        (0, 1),
        topic(O.ALTER_CONFIGS),
        name="of a topic",
    ),
    case(
        incremental_alter_configs.IncrementalAlterConfigsRequest(
            resources=[incremental_alter_configs.AlterConfigsResource(resource_type=4, resource_name="1")],
            validate_only=True,
        ),
        (0, 1),
        cluster(O.ALTER_CONFIGS),
        name="of a broker",
    ),
    case(list_config_resources.ListConfigResourcesRequest(), (0, 1), cluster(O.DESCRIBE_CONFIGS)),
)

CLUSTER = (
    case(
        update_features.UpdateFeaturesRequest(
            feature_updates=[update_features.FeatureUpdateKey(feature="x", max_version_level=1)]
        ),
        (0, 1, 2),
        cluster(O.ALTER),
    ),
    case(
        describe_acls.DescribeAclsRequest(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        ),
        (1, 3),
        cluster(O.DESCRIBE),
    ),
    case(
        create_acls.CreateAclsRequest(
            creations=[
                create_acls.AclCreation(
                    resource_type=2,
                    resource_name="x",
                    principal="User:x",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
            ]
        ),
        (1, 3),
        cluster(O.ALTER),
    ),
    case(
        delete_acls.DeleteAclsRequest(
            filters=[
                delete_acls.DeleteAclsFilter(
                    resource_type_filter=2,
                    resource_name_filter="y",
                    principal_filter=None,
                    host_filter=None,
                    operation=1,
                    permission_type=1,
                )
            ]
        ),
        (1, 3),
        cluster(O.ALTER),
    ),
    case(describe_log_dirs.DescribeLogDirsRequest(topics=None), (1, 5), cluster(O.DESCRIBE)),
    case(
        elect_leaders.ElectLeadersRequest(
            topic_partitions=[elect_leaders.TopicPartitions(topic=TOPIC, partitions=[0])],
            timeout_ms=TIMEOUT_MS,
        ),
        (0, 2),
        cluster(O.ALTER),
    ),
    case(
        alter_partition_reassignments.AlterPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS),
        (0, 1),
        cluster(O.ALTER),
    ),
    case(
        list_partition_reassignments.ListPartitionReassignmentsRequest(topics=None),
        (0,),
        cluster(O.DESCRIBE),
    ),
    case(describe_client_quotas.DescribeClientQuotasRequest(), (0, 1), cluster(O.DESCRIBE_CONFIGS)),
    case(
        alter_client_quotas.AlterClientQuotasRequest(
            entries=[
                alter_client_quotas.AlterClientQuotasRequestEntryData(
                    entity=[
                        alter_client_quotas.AlterClientQuotasRequestEntityData(
                            entity_type="user", entity_name="x"
                        )
                    ]
                )
            ],
            validate_only=True,
        ),
        (0, 1),
        cluster(O.ALTER_CONFIGS),
    ),
    case(
        describe_user_scram_credentials.DescribeUserScramCredentialsRequest(users=None),
        (0,),
        cluster(O.DESCRIBE),
    ),
    case(
        alter_user_scram_credentials.AlterUserScramCredentialsRequest(
            deletions=[alter_user_scram_credentials.ScramCredentialDeletion(name="nobody", mechanism=1)]
        ),
        (0,),
        cluster(O.ALTER),
    ),
    case(
        write_txn_markers.WriteTxnMarkersRequest(
            markers=[
                write_txn_markers.WritableTxnMarker(
                    topics=[write_txn_markers.WritableTxnMarkerTopic(name="not there", partition_indexes=[0])]
                )
            ]
        ),
        (1,),
        cluster(O.CLUSTER_ACTION),
    ),
)

BY_ID = (
    Case("Produce by id", _produce_by_id, (13,), (topic(O.WRITE),)),
    Case("Fetch by id", _fetch_by_id, (13, 18), (topic(O.READ),)),
    Case("Metadata by id", _metadata_by_id, (12, 13), (topic(O.DESCRIBE),)),
    Case("OffsetCommit by id", _commit_by_id, (10,), (group(O.READ), topic(O.READ))),
    Case("OffsetFetch by id", _offsets_by_id, (10,), (group(O.DESCRIBE), topic(O.DESCRIBE))),
)

_PRODUCED_IN_A_TRANSACTION = case(
    produce.ProduceRequest(
        transactional_id=TRANSACTIONAL_ID, acks=-1, timeout_ms=TIMEOUT_MS, topic_data=_PRODUCED
    ),
    (3, 12),
    transactional_id(O.WRITE),
    topic(O.WRITE),
    name="in a transaction",
)

_TXN_TOPICS = [add_partitions_to_txn.AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])]

TRANSACTIONS = (
    _PRODUCED_IN_A_TRANSACTION,
    case(
        init_producer_id.InitProducerIdRequest(
            transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=60_000
        ),
        (0, 5),
        transactional_id(O.WRITE),
        name="of a transaction",
    ),
    case(
        find_coordinator.FindCoordinatorRequest(key=TRANSACTIONAL_ID, key_type=1),
        (1, 3),
        transactional_id(O.DESCRIBE),
        name="of a transaction",
    ),
    case(
        find_coordinator.FindCoordinatorRequest(coordinator_keys=[TRANSACTIONAL_ID], key_type=1),
        (4, 6),
        transactional_id(O.DESCRIBE),
        name="of transactions",
    ),
    case(
        add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=TRANSACTIONAL_ID, v3_and_below_topics=_TXN_TOPICS
        ),
        (0, 3),
        transactional_id(O.WRITE),
        topic(O.WRITE),
    ),
    case(
        add_partitions_to_txn.AddPartitionsToTxnRequest(
            transactions=[
                add_partitions_to_txn.AddPartitionsToTxnTransaction(
                    transactional_id=TRANSACTIONAL_ID, topics=_TXN_TOPICS
                )
            ]
        ),
        (4, 5),
        cluster(O.CLUSTER_ACTION),
        name="of another broker",
    ),
    case(
        add_offsets_to_txn.AddOffsetsToTxnRequest(transactional_id=TRANSACTIONAL_ID, group_id=GROUP),
        (0, 4),
        transactional_id(O.WRITE),
        group(O.READ),
    ),
    case(end_txn.EndTxnRequest(transactional_id=TRANSACTIONAL_ID), (0, 5), transactional_id(O.WRITE)),
    case(
        txn_offset_commit.TxnOffsetCommitRequest(
            transactional_id=TRANSACTIONAL_ID,
            group_id=GROUP,
            topics=[
                txn_offset_commit.TxnOffsetCommitRequestTopic(
                    name=TOPIC, partitions=[txn_offset_commit.TxnOffsetCommitRequestPartition()]
                )
            ],
        ),
        (0, 5),
        transactional_id(O.WRITE),
        group(O.READ),
        topic(O.READ),
    ),
    case(
        describe_producers.DescribeProducersRequest(
            topics=[describe_producers.TopicRequest(name=TOPIC, partition_indexes=[0])]
        ),
        (0,),
        topic(O.READ),
    ),
    case(
        describe_transactions.DescribeTransactionsRequest(transactional_ids=[TRANSACTIONAL_ID]),
        (0,),
        transactional_id(O.DESCRIBE),
    ),
)
_WRITER_ID = "{shop}"  # what stands for all of its transactional ids
OWN = (
    case(
        prepare_transaction.PrepareTransactionRequest(transactional_id=TRANSACTIONAL_ID),
        (0,),
        transactional_id(O.WRITE),
    ),
    case(
        decide_transactions.DecideTransactionsRequest(writer="shop", number=1),
        (0,),
        transactional_id(O.WRITE, _WRITER_ID),
    ),
    case(
        describe_transaction_writers.DescribeTransactionWritersRequest(writers=["shop"]),
        (0,),
        transactional_id(O.DESCRIBE, _WRITER_ID),
    ),
)
IDEMPOTENT = (
    case(init_producer_id.InitProducerIdRequest(transactional_id=None), (0, 5), cluster(O.IDEMPOTENT_WRITE)),
)
# Last, for they change what the others need.
DELETIONS = (
    case(
        delete_topics.DeleteTopicsRequest(topic_names=["not there"], timeout_ms=TIMEOUT_MS),
        (1, 5),
        topic(O.DELETE, "not there"),
    ),
    case(
        delete_topics.DeleteTopicsRequest(
            topics=[delete_topics.DeleteTopicState(name="not there")], timeout_ms=TIMEOUT_MS
        ),
        (6,),
        topic(O.DELETE, "not there"),
        name="by name or id",
    ),
    Case("DeleteTopics by id", _delete_by_id, (6,), (topic(O.DELETE),)),
)

CASES = (*BY_NAME, *OPTIONS, *CLUSTER, *BY_ID, *TRANSACTIONS, *OWN, *IDEMPOTENT, *DELETIONS)
