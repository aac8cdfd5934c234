"""Topics, groups, the broker itself: what their resources say and do."""

from __future__ import annotations

import pytest
from tests.support.kafka_node import KafkaNode, Peer
from tests.unit.admin.site import Site, admin_node, site_of

from mainstem.admin.node import Phase
from mainstem.wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

# --- topics


async def test_the_life_of_a_topic(site: Site, kafka: KafkaNode) -> None:
    wanted = {"name": "orders", "partitions": 2, "config": {"retention.ms": "1h"}}
    made = await site.ask("POST", "/v1/topics", wanted)
    assert (made.status, made.headers["location"]) == (201, "/v1/topics/orders")
    assert made.json["config"] == {"retention.ms": "3600000"}
    kafka.fill("orders", 3, 1)
    described = (await site.ask("GET", "/v1/topics/orders")).json
    assert [each["high_watermark"] for each in described["partitions"]] == [0, 3]
    assert [each["leader"] for each in described["partitions"]] == [1, 1]
    change = {"config": {"retention.ms": None, "segment.bytes": "1MiB"}}
    changed = await site.ask("PATCH", "/v1/topics/orders", change)
    assert changed.json["config"] == {"segment.bytes": "1048576"}
    gone = await site.ask("DELETE", "/v1/topics/orders")
    assert (gone.status, gone.content) == (204, b"")
    for method in ("GET", "DELETE"):
        reply = await site.ask(method, "/v1/topics/orders")
        assert (reply.status, reply.error_code) == (404, "unknown_topic_or_partition")


async def test_changes_of_a_topic_are_made_together_or_not_at_all(site: Site, kafka: KafkaNode) -> None:
    await kafka.create_topic("orders", config={"retention.ms": "1000"})
    change = {"config": {"retention.ms": "2000", "segment.bytes": "few"}}
    reply = await site.ask("PATCH", "/v1/topics/orders", change)
    assert (reply.status, reply.error_code) == (400, "invalid_config")
    assert kafka.broker.image.topics["orders"].config == {"retention.ms": "1000"}
    assert (await site.ask("PATCH", "/v1/topics/none", change)).status == 404


async def test_a_topic_that_is_there_already(site: Site, kafka: KafkaNode) -> None:
    await kafka.create_topic("orders")
    reply = await site.ask("POST", "/v1/topics", {"name": "orders"})
    assert (reply.status, reply.error_code) == (409, "topic_already_exists")


async def test_the_brokers_own_topics_stay(site: Site, kafka: KafkaNode) -> None:
    reply = await site.ask("DELETE", "/v1/topics/__consumer_offsets")
    assert (reply.status, reply.error_code) == (409, "internal_topic")
    assert "__consumer_offsets" in kafka.broker.image.topics


async def test_topics_are_listed_page_by_page(site: Site, kafka: KafkaNode) -> None:
    for name in ("c", "a", "b"):
        await kafka.create_topic(name)
    kafka.fill("a", 5)
    first = (await site.ask("GET", "/v1/topics?internal=false&limit=2")).json
    assert [each["name"] for each in first["topics"]] == ["a", "b"]
    assert (first["total_count"], first["next_after"]) == (3, "b")
    assert first["topics"][0]["record_count"] == 5
    last = (await site.ask("GET", "/v1/topics?internal=false&limit=2&after=b")).json
    assert [each["name"] for each in last["topics"]] == ["c"]
    assert last["next_after"] is None
    everything = (await site.ask("GET", "/v1/topics")).json
    internal = {each["name"] for each in everything["topics"] if each["is_internal"]}
    assert "__consumer_offsets" in internal


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=10001", "limit=-1", "limit=x", "limit=", "limit=1e3", "internal=maybe"]
)
async def test_a_parameter_that_cannot_be(site: Site, query: str) -> None:
    reply = await site.ask("GET", f"/v1/topics?{query}")
    assert (reply.status, reply.error_code) == (400, "bad_parameter")


# --- groups


async def commit(peer: Peer, group_id: str, offset: int) -> None:
    topic = OffsetCommitRequestTopic(
        name="orders", partitions=[OffsetCommitRequestPartition(committed_offset=offset)]
    )
    request = OffsetCommitRequest(group_id=group_id, topics=[topic])
    answer = await peer.ask(request, OffsetCommitResponse, 8)
    assert answer.topics[0].partitions[0].error_code == 0


async def test_groups_and_how_far_they_are(site: Site, kafka: KafkaNode) -> None:
    await kafka.create_topic("orders")
    kafka.fill("orders", 10)
    peer = kafka.peer()
    for group_id, offset in (("b/c", 4), ("a", 10)):
        await commit(peer, group_id, offset)
    first = (await site.ask("GET", "/v1/groups?limit=1")).json
    assert ([each["group_id"] for each in first["groups"]], first["next_after"]) == (["a"], "a")
    rest = (await site.ask("GET", "/v1/groups?after=a")).json
    assert ([each["group_id"] for each in rest["groups"]], rest["total_count"]) == (["b/c"], 2)
    described = (await site.ask("GET", "/v1/groups/b/c")).json
    assert (described["state"], described["total_lag"]) == ("Empty", 6)
    (offset,) = described["offsets"]
    assert (offset["committed_offset"], offset["high_watermark"], offset["lag"]) == (4, 10, 6)
    assert (await site.ask("DELETE", "/v1/groups/b/c")).status == 204
    for method in ("GET", "DELETE"):
        reply = await site.ask(method, "/v1/groups/b/c")
        assert (reply.status, reply.error_code) == (404, "group_id_not_found")


async def test_a_lag_counts_what_can_still_be_read(site: Site, kafka: KafkaNode) -> None:
    await kafka.create_topic("orders")
    kafka.fill("orders", 10)
    await commit(kafka.peer(), "g", 2)
    kafka.broker.partition("orders", 0).delete_records(7)
    assert (await site.ask("GET", "/v1/groups/g")).json["total_lag"] == 3


# --- the node


async def test_the_node_about_itself(site: Site, kafka: KafkaNode) -> None:
    kafka.clock.advance(61_000)
    told = (await site.ask("GET", "/v1/broker")).json
    assert (told["node_id"], told["phase"], told["uptime_seconds"]) == (1, "serving", 61)
    assert told["listeners"] == {"admin": "127.0.0.1:9644", "kafka": "[::1]:9092"}
    assert told["controller_id"] == 1
    assert told["connection_count"] == 3
    page = await site.ask("GET", "/")
    assert page.headers["content-type"].startswith("text/html")
    assert b"Mainstem node 1" in page.content
    assert b"0:01:01" in page.content
    assert b"2.0 KiB" in page.content


async def test_settings_hide_what_is_secret(tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = "correct horse battery staple"
    kafka = await KafkaNode(tmp_path_factory.mktemp("node"), {"ssl.key.password": secret}).start()
    reply = await site_of(admin_node(kafka)).ask("GET", "/v1/config")
    await kafka.stop()
    assert secret.encode() not in reply.content
    settings = {each["name"]: each for each in reply.json["settings"]}
    assert settings["ssl.key.password"]["is_sensitive"]
    assert settings["ssl.key.password"]["value"] is None
    assert settings["node.id"]["value"] == "1"


async def test_log_directories(site: Site, kafka: KafkaNode) -> None:
    await kafka.create_topic("orders", 2)
    listed = (await site.ask("GET", "/v1/log-dirs")).json["log_directories"]
    assert [each["path"] for each in listed] == kafka.log_paths
    assert all(each["is_online"] for each in listed)
    assert sum(each["partition_count"] for each in listed) == 2 + 3


# --- health


async def test_readiness_in_words(kafka: KafkaNode) -> None:
    assert (await site_of(admin_node(kafka)).ask("GET", "/health/ready")).json == {
        "status": "ready",
        "reasons": [],
        "warnings": [],
    }
    stopping = site_of(admin_node(kafka, phase=lambda: Phase.STOPPING))
    reply = await stopping.ask("GET", "/health/ready")
    assert (reply.status, reply.json["reasons"]) == (503, ["the broker is stopping"])
    assert (await stopping.ask("GET", "/health/live")).json == {"status": "live"}


async def test_a_failed_directory_is_a_warning_as_long_as_there_is_another(kafka: KafkaNode) -> None:
    site = site_of(admin_node(kafka))
    await kafka.create_topic("orders", 4)
    kafka.directories.fail(kafka.log_paths[0], "the disk is gone")
    reply = await site.ask("GET", "/health/ready")
    assert reply.status == 200
    assert any("the disk is gone" in warning for warning in reply.json["warnings"])
    kafka.directories.fail(kafka.log_paths[1], "this one too")
    reply = await site.ask("GET", "/health/ready")
    assert reply.status == 503
    assert len(reply.json["reasons"]) == 2


async def test_a_node_that_left_its_cluster_is_not_ready(kafka: KafkaNode) -> None:
    await kafka.membership.leave()
    reply = await site_of(admin_node(kafka)).ask("GET", "/health/ready")
    assert reply.status == 503
    assert any("not registered" in reason for reason in reply.json["reasons"])
