"""The APIs by which partitions and groups take part in transactions, asked in every version."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode, Peer
from tests.support.transactions import Verifier, transactional

from mainstem.core.broker import ProduceEntry
from mainstem.core.errors import ConcurrentTransactions, InvalidProducerIdMapping, TransactionAbortable
from mainstem.core.groups.coordinator import OFFSETS_TOPIC
from mainstem.core.transactions.produce import ProduceTransaction
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from mainstem.wire.kafka.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from mainstem.wire.kafka.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from mainstem.wire.kafka.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from mainstem.wire.kafka.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

PRODUCER = 7


@pytest.fixture
def verifier() -> Verifier:
    return Verifier()


@pytest.fixture
async def node(tmp_path: Path, verifier: Verifier) -> AsyncIterator[KafkaNode]:
    node = await KafkaNode(tmp_path, verifier=verifier).start()
    await node.create_topic("t", 2)
    yield node
    await node.stop()


async def commit(
    peer: Peer, version: int, *partitions: int, topic: str = "t", epoch: int = 0, group: str = "g"
) -> list[int]:
    request = TxnOffsetCommitRequest(
        transactional_id="app",
        group_id=group,
        producer_id=PRODUCER,
        producer_epoch=epoch,
        topics=[
            TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=index, committed_offset=40 + index, committed_metadata="m"
                    )
                    for index in partitions
                ],
            )
        ],
    )
    response = await peer.ask(request, TxnOffsetCommitResponse, version)
    return [each.error_code for each in response.topics[0].partitions]


async def end(
    peer: Peer, *keys: tuple[str, int], committed: bool = True, epoch: int = 0, version: int = 1
) -> list[int]:
    topics = [WritableTxnMarkerTopic(name=name, partition_indexes=[index]) for name, index in keys]
    marker = WritableTxnMarker(
        producer_id=PRODUCER, producer_epoch=epoch, transaction_result=committed, topics=topics
    )
    response = await peer.ask(WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse, version)
    [result] = response.markers
    assert result.producer_id == PRODUCER
    return [topic.partitions[0].error_code for topic in result.topics]


async def fetched(peer: Peer, version: int, *, stable: bool = True) -> tuple[int, int]:
    """Error and offset of partition 0."""
    if version < 8:
        topic = OffsetFetchRequestTopic(name="t", partition_indexes=[0])
        request = OffsetFetchRequest(group_id="g", topics=[topic], require_stable=stable)
        response = await peer.ask(request, OffsetFetchResponse, version)
        [old] = response.topics[0].partitions
        return old.error_code, old.committed_offset
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    group = OffsetFetchRequestGroup(group_id="g", topics=topics)
    request = OffsetFetchRequest(groups=[group], require_stable=stable)
    response = await peer.ask(request, OffsetFetchResponse, version)
    [new] = response.groups[0].topics[0].partitions
    return new.error_code, new.committed_offset


def offsets_partition(node: KafkaNode) -> tuple[str, int]:
    return OFFSETS_TOPIC, node.groups.partition_for("g")


@pytest.mark.parametrize("version", range(6))
async def test_offsets_are_committed_by_the_marker(node: KafkaNode, verifier: Verifier, version: int) -> None:
    peer = node.peer()
    assert await commit(peer, version, 0, 9) == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    partition = TopicPartition(*offsets_partition(node))
    assert verifier.asked == [(PRODUCER, 0, {partition}, version >= 5)]
    for fetch_version in (7, 8):
        assert await fetched(peer, fetch_version) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
        assert await fetched(peer, fetch_version, stable=False) == (0, -1)
    assert await end(peer, partition) == [0]
    for fetch_version in (7, 8):
        assert await fetched(peer, fetch_version) == (0, 40)


async def test_a_producer_that_was_fenced_commits_nothing(node: KafkaNode) -> None:
    peer = node.peer()
    assert await commit(peer, 3, 0, epoch=4) == [0]
    assert await end(peer, offsets_partition(node), committed=False, epoch=5, version=2) == [0]
    assert await commit(peer, 3, 0, epoch=4) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert await fetched(peer, 7) == (0, -1)


@pytest.mark.parametrize(
    ("refusal", "version", "code"),
    [
        (TransactionAbortable("x"), 3, ErrorCode.INVALID_TXN_STATE),
        (TransactionAbortable("x"), 4, ErrorCode.TRANSACTION_ABORTABLE),
        (InvalidProducerIdMapping("x"), 5, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ConcurrentTransactions("x"), 5, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
async def test_a_commit_out_of_no_transaction_is_refused(
    node: KafkaNode, verifier: Verifier, refusal: Exception, version: int, code: int
) -> None:
    verifier.refusal = refusal
    assert await commit(node.peer(), version, 0, 1) == [code, code]
    assert await commit(node.peer(), version, 0, group="") == [ErrorCode.INVALID_GROUP_ID]


@pytest.mark.parametrize("version", [1, 2])
async def test_markers_are_answered_partition_by_partition(node: KafkaNode, version: int) -> None:
    peer = node.peer()
    codes = await end(peer, ("t", 0), ("t", 5), ("gone", 0), ("t", 1), epoch=3, version=version)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [0, unknown, unknown, 0]
    assert await end(peer, ("t", 0), epoch=2, version=version) == [ErrorCode.INVALID_PRODUCER_EPOCH]


@pytest.mark.parametrize("version", [2, 7, 11])
async def test_the_end_of_a_partition_is_where_a_reader_of_its_kind_stops(
    node: KafkaNode, version: int
) -> None:
    node.fill("t", 3)
    node.broker.partition("t", 0).append_now(transactional(PRODUCER, b"a"), lambda _: None)
    peer = node.peer()

    async def end_for(isolation: int) -> int:
        wanted = ListOffsetsTopic(
            name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)]
        )
        request = ListOffsetsRequest(isolation_level=isolation, topics=[wanted])
        response = await peer.ask(request, ListOffsetsResponse, version)
        return response.topics[0].partitions[0].offset

    assert [await end_for(0), await end_for(1)] == [4, 3]
    assert await end(peer, ("t", 0)) == [0]
    assert [await end_for(0), await end_for(1)] == [5, 5]


async def test_producers_of_a_partition_are_described(node: KafkaNode) -> None:
    batch = transactional(PRODUCER, b"a", b"b", epoch=3)
    node.broker.produce(
        [ProduceEntry("t", 0, batch)],
        acks=-1,
        timeout_ms=1_000,
        done=lambda _: None,
        transaction=ProduceTransaction("app"),
    )
    peer = node.peer()
    assert await end(peer, ("t", 1), epoch=3) == [0]
    request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0, 1, 2])])
    response = await peer.ask(request, DescribeProducersResponse, 0)
    writing, ended, unknown = response.topics[0].partitions
    [producer] = writing.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (PRODUCER, 3, 1)
    assert (producer.current_txn_start_offset, producer.coordinator_epoch) == (0, -1)
    [producer] = ended.active_producers
    assert (producer.last_sequence, producer.current_txn_start_offset, producer.coordinator_epoch) == (
        -1,
        -1,
        0,
    )
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
