"""The APIs of transactions in their versions: who is told what, and in which words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.core.transactions.state_topic import ensure_transactions_topic
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.extensions.decide_transactions import (
    DecideTransactionsRequest,
    DecideTransactionsResponse,
)
from mainstem.wire.kafka.extensions.describe_transaction_writers import (
    DescribeTransactionWritersRequest,
    DescribeTransactionWritersResponse,
)
from mainstem.wire.kafka.extensions.prepare_transaction import (
    PrepareTransactionRequest,
    PrepareTransactionResponse,
)
from mainstem.wire.kafka.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from mainstem.wire.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from mainstem.wire.kafka.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from mainstem.wire.kafka.messages.end_txn import EndTxnRequest, EndTxnResponse
from mainstem.wire.kafka.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from mainstem.wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from mainstem.wire.kafka.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from mainstem.wire.kafka.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

NO = ErrorCode.NONE


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[KafkaNode]:
    node = await KafkaNode(tmp_path).start()
    await ensure_transactions_topic(node.broker)
    await node.transactions.loaded()
    yield node
    await node.stop()


async def init(peer: Peer, name: str = "x", version: int = 5, **more: int) -> InitProducerIdResponse:
    request = InitProducerIdRequest(transactional_id=name, **{"transaction_timeout_ms": 60_000, **more})
    return await peer.ask(request, InitProducerIdResponse, version)


async def add(
    peer: Peer,
    told: InitProducerIdResponse,
    *partitions: int,
    topic: str = "t",
    name: str = "x",
    version: int = 3,
) -> dict[int, int]:
    """The code of each partition."""
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=told.producer_id,
        v3_and_below_producer_epoch=told.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))],
    )
    answer = await peer.ask(request, AddPartitionsToTxnResponse, version)
    (found,) = answer.results_by_topic_v3_and_below
    return {each.partition_index: each.partition_error_code for each in found.results_by_partition}


async def end(
    peer: Peer, told: InitProducerIdResponse, *, committed: bool, name: str = "x", version: int = 3
) -> EndTxnResponse:
    request = EndTxnRequest(
        transactional_id=name,
        producer_id=told.producer_id,
        producer_epoch=told.producer_epoch,
        committed=committed,
    )
    return await peer.ask(request, EndTxnResponse, version)


async def test_a_transaction_of_the_first_protocol_in_every_version(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t", 2)
    told = await init(peer, version=0)
    assert told.error_code == NO
    for version in range(5):
        if version < 4:
            assert await add(peer, told, 0, 1, version=version) == {0: NO, 1: NO}
        answer = await peer.ask(
            AddOffsetsToTxnRequest(
                transactional_id="x",
                producer_id=told.producer_id,
                producer_epoch=told.producer_epoch,
                group_id="g",
            ),
            AddOffsetsToTxnResponse,
            version,
        )
        assert answer.error_code == NO
        ended = await end(peer, told, committed=version % 2 == 0, version=version)
        assert ended.error_code == NO
    described = await peer.ask(
        DescribeTransactionsRequest(transactional_ids=["x", "y"]), DescribeTransactionsResponse, 0
    )
    one, other = described.transaction_states
    assert one.transaction_state in ("CompleteCommit", "PrepareCommit")
    assert other.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


async def test_the_end_in_the_second_protocol_tells_the_next_epoch(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    told = await init(peer)
    outcomes = await node.broker.transactions.verify(
        "x", told.producer_id, told.producer_epoch, [node.broker.partition("t", 0).topic_partition], add=True
    )
    assert list(outcomes.values()) == [None]
    ended = await end(peer, told, committed=True, version=5)
    assert (ended.error_code, ended.producer_id, ended.producer_epoch) == (NO, told.producer_id, 1)
    again = await end(peer, told, committed=True, version=5)
    assert (again.error_code, again.producer_epoch) in ((NO, 1), (ErrorCode.CONCURRENT_TRANSACTIONS, -1))


async def test_a_partition_that_is_not_there_keeps_the_others_out(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t", 2)
    told = await init(peer)
    assert await add(peer, told, 0, 1, 2) == {
        0: ErrorCode.OPERATION_NOT_ATTEMPTED,
        1: ErrorCode.OPERATION_NOT_ATTEMPTED,
        2: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert node.broker.transactions.describe("x").partitions == frozenset()


async def test_an_old_epoch_has_two_names(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    old = await init(peer)
    await init(peer)
    for version, code in [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)]:
        assert await add(peer, old, 0, version=version) == {0: code}
        assert (await end(peer, old, committed=True, version=version)).error_code == code
    identity = {"producer_id": old.producer_id, "producer_epoch": old.producer_epoch}
    assert (await init(peer, version=3, **identity)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert (await init(peer, version=4, **identity)).error_code == ErrorCode.PRODUCER_FENCED


async def test_what_cannot_be_initialized(peer: Peer) -> None:
    assert (await init(peer, "")).error_code == ErrorCode.INVALID_REQUEST
    assert (await init(peer, transaction_timeout_ms=0)).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    too_long = await init(peer, transaction_timeout_ms=900_001)
    assert too_long.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert (await init(peer, producer_id=5)).error_code == ErrorCode.INVALID_REQUEST
    plain = await peer.ask(InitProducerIdRequest(transactional_id=None), InitProducerIdResponse, 5)
    assert plain.error_code == NO


async def test_brokers_ask_for_many_and_may_only_look(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t", 2)
    told = await init(peer)

    def asked(verify_only: bool, *partitions: int) -> AddPartitionsToTxnRequest:
        return AddPartitionsToTxnRequest(
            transactions=[
                AddPartitionsToTxnTransaction(
                    transactional_id=name,
                    producer_id=told.producer_id,
                    producer_epoch=told.producer_epoch,
                    verify_only=verify_only,
                    topics=[AddPartitionsToTxnTopic(name="t", partitions=list(partitions))],
                )
                for name in ("x", "nobody's")
            ]
        )

    async def codes(request: AddPartitionsToTxnRequest, version: int) -> list[list[int]]:
        answer = await peer.ask(request, AddPartitionsToTxnResponse, version)
        return [
            [
                part.partition_error_code
                for topic in result.topic_results
                for part in topic.results_by_partition
            ]
            for result in answer.results_by_transaction
        ]

    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert await codes(asked(True, 0), 4) == [[ErrorCode.INVALID_TXN_STATE], [mapping]]
    assert await codes(asked(True, 0), 5) == [[ErrorCode.TRANSACTION_ABORTABLE], [mapping]]
    assert await codes(asked(False, 0), 5) == [[NO], [mapping]]
    assert await codes(asked(True, 0, 1), 5) == [[NO, ErrorCode.TRANSACTION_ABORTABLE], [mapping, mapping]]


async def test_ids_of_a_writer_have_one_coordinator(node: KafkaNode, peer: Peer) -> None:
    keys = ["plain", "{w}1", "{w}2", "{w}"]
    answer = await peer.ask(
        FindCoordinatorRequest(key_type=1, coordinator_keys=keys), FindCoordinatorResponse, 4
    )
    assert [(each.key, each.error_code, each.node_id) for each in answer.coordinators] == [
        (key, NO, 1) for key in keys
    ]
    places = {node.broker.transactions.partition_for(key) for key in keys[1:]}
    assert len(places) == 1


async def test_lists_are_filtered(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    told = await init(peer, "open")
    await add(peer, told, 0, name="open")
    await init(peer, "empty")

    async def listed(version: int = 2, **filters: object) -> ListTransactionsResponse:
        return await peer.ask(ListTransactionsRequest(**filters), ListTransactionsResponse, version)  # type: ignore[arg-type]

    def names(answer: ListTransactionsResponse) -> set[str]:
        return {each.transactional_id for each in answer.transaction_states}

    assert names(await listed(0)) == {"open", "empty"}
    found = await listed(state_filters=["Ongoing", "Strange"])
    assert (names(found), found.unknown_state_filters) == ({"open"}, ["Strange"])
    found = await listed(state_filters=["Strange"])
    assert (names(found), found.unknown_state_filters) == (set(), ["Strange"])
    assert names(await listed(producer_id_filters=[told.producer_id])) == {"open"}
    assert names(await listed(transactional_id_pattern="o.*")) == {"open"}
    refused = await listed(transactional_id_pattern="(")
    assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


async def test_prepare_decide_and_ask(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    told = await init(peer, "{w}1")

    async def prepare(number: int) -> PrepareTransactionResponse:
        request = PrepareTransactionRequest(
            transactional_id="{w}1",
            producer_id=told.producer_id,
            producer_epoch=told.producer_epoch,
            number=number,
        )
        return await peer.ask(request, PrepareTransactionResponse, 0)

    async def decide(number: int, *ids: str) -> DecideTransactionsResponse:
        request = DecideTransactionsRequest(writer="w", number=number, committed_ids=list(ids))
        return await peer.ask(request, DecideTransactionsResponse, 0)

    assert (await prepare(3)).error_code == ErrorCode.INVALID_TXN_STATE
    assert await add(peer, told, 0, name="{w}1") == {0: NO}
    assert (await prepare(3)).error_code == NO
    refused = await decide(3, "{w}2")
    assert refused.error_code == ErrorCode.INVALID_TXN_STATE
    assert refused.error_message is not None
    assert "nothing is decided" in refused.error_message
    decided = await decide(3, "{w}1")
    assert (decided.error_code, decided.decided_number, decided.committed_ids) == (NO, 3, ["{w}1"])
    assert await decide(1) == decided
    late = await prepare(3)
    assert late.error_code in (ErrorCode.PRODUCER_FENCED, ErrorCode.CONCURRENT_TRANSACTIONS)
    found = await peer.ask(
        DescribeTransactionWritersRequest(writers=["w", "v", "}"]), DescribeTransactionWritersResponse, 0
    )
    assert [(each.error_code, each.decided_number) for each in found.writers] == [
        (NO, 3),
        (NO, -1),
        (ErrorCode.INVALID_REQUEST, -1),
    ]
    everything = await peer.ask(
        DescribeTransactionWritersRequest(writers=None), DescribeTransactionWritersResponse, 0
    )
    assert [each.writer for each in everything.writers] == ["w"]


async def test_levels_of_features_are_fixed(peer: Peer) -> None:
    async def ask(feature: str, level: int, version: int) -> UpdateFeaturesResponse:
        update = FeatureUpdateKey(feature=feature, max_version_level=level)
        return await peer.ask(
            UpdateFeaturesRequest(feature_updates=[update]), UpdateFeaturesResponse, version
        )

    for version in range(3):
        assert (await ask("transaction.version", 2, version)).error_code == NO
        for feature, level in (("transaction.version", 1), ("strange.version", 1)):
            answer = await ask(feature, level, version)
            codes = [answer.error_code, *[each.error_code for each in answer.results]]
            assert ErrorCode.INVALID_UPDATE_VERSION in codes
