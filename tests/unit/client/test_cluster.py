"""The cluster as a client sees it: whom it asks, and what it does when they are gone."""

import socket
import time

import pytest
from tests.support.fake_cluster import (
    FIND_COORDINATOR,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    FakeCluster,
    lose_request,
)

from mainstem.client.addresses import Address
from mainstem.client.answer_codes import COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_TOPIC_OR_PARTITION
from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import BrokerUnreachable, ClusterUnreachable, Refused, UnexpectedAnswer
from mainstem.client.groups import commit_offsets, committed_offsets
from mainstem.client.offsets import offsets_at, partition_ranges
from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord, build_batch
from mainstem.wire.kafka.messages import find_coordinator, list_offsets, offset_commit

PLACE = TopicPartition("t", 0)


def free_address() -> Address:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Address("127.0.0.1", listener.getsockname()[1])


def test_the_first_address_that_answers_serves() -> None:
    with FakeCluster() as fake, ClusterClient([free_address(), *fake.addresses]) as cluster:
        assert list(cluster.nodes) == [0]
        assert cluster.cluster_id == "fake"


def test_all_addresses_that_failed_are_named_with_the_cure() -> None:
    first, second = free_address(), free_address()
    with pytest.raises(ClusterUnreachable) as told, ClusterClient([first, second]) as cluster:
        cluster.refresh([])
    for part in (str(first), str(second), "connection refused", "mainstem start", "--bootstrap"):
        assert part in str(told.value)


def test_a_service_that_is_no_broker_is_named_as_such() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    address = Address("127.0.0.1", listener.getsockname()[1])

    import threading

    def serve() -> None:
        connection, _ = listener.accept()
        connection.recv(1000)
        connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        connection.close()

    threading.Thread(target=serve, daemon=True).start()
    with pytest.raises(UnexpectedAnswer, match="not that of another service"):
        ClusterClient([address]).refresh([])
    listener.close()


def test_a_connection_that_the_broker_closed_meanwhile_is_made_anew() -> None:
    with FakeCluster() as fake, ClusterClient(fake.addresses) as cluster:
        cluster.refresh([])
        fake.brokers[0].drop_connections()
        assert cluster.refresh(["t"]).keys() == {"t"}


def test_a_broker_that_closes_every_connection_is_not_asked_for_ever() -> None:
    with FakeCluster() as fake, ClusterClient(fake.addresses) as cluster:
        cluster.refresh([])
        fake.script(METADATA, *[lose_request] * 10)
        with pytest.raises(ClusterUnreachable, match="the broker closed it"):
            cluster.refresh([])
        assert fake.count(METADATA) == 3


def test_a_wrong_announced_address_is_told_with_the_option_that_mends_it() -> None:
    with FakeCluster() as fake, ClusterClient(fake.addresses) as cluster:
        wrong = fake.announced[0] = free_address()
        started = time.monotonic()
        with pytest.raises(BrokerUnreachable, match=f"at {wrong}.*--advertised-kafka"):
            partition_ranges(cluster, [PLACE])
        assert time.monotonic() - started < 5  # nobody else could take over: no waiting


def test_a_topic_that_is_not_there() -> None:
    with FakeCluster() as fake, ClusterClient(fake.addresses) as cluster:
        with pytest.raises(Refused, match=r"there is no such topic.*mainstem topic list") as told:
            cluster.topic("absent")
        assert told.value.code == UNKNOWN_TOPIC_OR_PARTITION
        with pytest.raises(Refused, match="partitions 0 to 0"):
            cluster.leader_of(TopicPartition("t", 1))


def test_offsets_are_asked_again_where_the_leader_moved() -> None:
    with FakeCluster(node_count=2) as fake, ClusterClient(fake.addresses) as cluster:
        cluster.topic("t")
        fake.partitions[PLACE].append(build_batch([NewRecord(None, b"v", timestamp_ms=1000)]))
        fake.partitions[PLACE].leader = 1
        assert partition_ranges(cluster, [PLACE])[PLACE] == (0, 1)
        assert offsets_at(cluster, {PLACE: 999}) == {PLACE: 0}
        assert offsets_at(cluster, {PLACE: 1001}) == {PLACE: -1}


def test_offsets_are_asked_of_who_took_over() -> None:
    with FakeCluster(node_count=2) as fake, ClusterClient(list(reversed(fake.addresses))) as cluster:
        cluster.topic("t")
        fake.brokers[0].stop()
        fake.partitions[PLACE].leader = 1
        assert partition_ranges(cluster, [PLACE])[PLACE] == (0, 0)


def test_an_answer_that_leaves_a_partition_out_is_an_error() -> None:
    with FakeCluster() as fake, ClusterClient(fake.addresses) as cluster:
        fake.script(LIST_OFFSETS, lambda _request, _answer: list_offsets.ListOffsetsResponse())
        with pytest.raises(Refused, match="partition t-0"):
            partition_ranges(cluster, [PLACE])


def test_a_group_is_asked_again_while_its_coordinator_loads() -> None:
    loading = find_coordinator.FindCoordinatorResponse(error_code=COORDINATOR_LOAD_IN_PROGRESS)
    with FakeCluster() as fake, ClusterClient(fake.addresses) as cluster:
        fake.script(FIND_COORDINATOR, *[lambda _request, _answer: loading] * 3)
        commit_offsets(cluster, "g", {PLACE: 7})
        assert fake.count(FIND_COORDINATOR) == 4
        assert {place: found.offset for place, found in committed_offsets(cluster, "g").items()} == {PLACE: 7}


def test_what_waiting_does_not_mend_is_told_at_once() -> None:
    refused = offset_commit.OffsetCommitResponse(
        topics=[
            offset_commit.OffsetCommitResponseTopic(
                name="t", partitions=[offset_commit.OffsetCommitResponsePartition(error_code=25)]
            )
        ]
    )
    with FakeCluster() as fake, ClusterClient(fake.addresses) as cluster:
        fake.script(OFFSET_COMMIT, lambda _request, _answer: refused)
        with pytest.raises(Refused, match="stop them first"):
            commit_offsets(cluster, "g", {PLACE: 7})
        assert fake.count(OFFSET_COMMIT) == 1


def test_persisting_has_an_end() -> None:
    loading = find_coordinator.FindCoordinatorResponse(error_code=COORDINATOR_LOAD_IN_PROGRESS)
    with FakeCluster() as fake, ClusterClient(fake.addresses, timeout_s=0.5) as cluster:
        fake.script(FIND_COORDINATOR, *[lambda _request, _answer: loading] * 50)
        with pytest.raises(Refused, match="still loading"):
            committed_offsets(cluster, "g")
        assert fake.count(FIND_COORDINATOR) < 10
