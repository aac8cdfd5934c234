"""ListOffsets, in every version that asks and answers differently."""

from __future__ import annotations

import pytest
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.heads.kafka.apis.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    FIRST_VERSIONS,
    FIRST_WITH_LEADER_EPOCH,
    HANDLER,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

VERSIONS = range(HANDLER.min_version, HANDLER.max_version + 1)


async def ask(
    peer: Peer, version: int, *timestamps: int, partition: int = 0
) -> list[ListOffsetsPartitionResponse]:
    asked = [ListOffsetsPartition(partition_index=partition, timestamp=one) for one in timestamps]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="orders", partitions=asked)])
    response = await peer.ask(request, ListOffsetsResponse, version)
    return response.topics[0].partitions


@pytest.fixture
async def filled(node: KafkaNode, peer: Peer) -> Peer:
    await node.create_topic("orders", 2)
    node.fill("orders", 5)
    return peer


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("question", "offset"), [(EARLIEST, 0), (LATEST, 5), (0, 0)])
async def test_first_last_and_of_a_moment(filled: Peer, version: int, question: int, offset: int) -> None:
    [answer] = await ask(filled, version, question)
    assert (answer.error_code, answer.offset) == (0, offset)
    assert answer.leader_epoch == (0 if version >= FIRST_WITH_LEADER_EPOCH else -1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_nothing_is_after_the_last_record(filled: Peer, version: int) -> None:
    [answer] = await ask(filled, version, 1 << 60)
    assert (answer.error_code, answer.offset, answer.timestamp) == (0, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("question", [MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD])
async def test_a_question_that_is_younger_than_the_version_is_refused(
    filled: Peer, version: int, question: int
) -> None:
    [answer] = await ask(filled, version, question)
    is_known = version >= FIRST_VERSIONS[question]
    assert answer.error_code == (ErrorCode.NONE if is_known else ErrorCode.UNSUPPORTED_VERSION)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_partition_that_is_not_there(filled: Peer, version: int) -> None:
    [answer] = await ask(filled, version, LATEST, partition=7)
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_partition_that_is_asked_about_twice(filled: Peer) -> None:
    answers = await ask(filled, HANDLER.max_version, EARLIEST, LATEST)
    assert [answer.error_code for answer in answers] == [ErrorCode.INVALID_REQUEST] * 2
