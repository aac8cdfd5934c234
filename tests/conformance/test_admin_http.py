"""The admin interface of a real broker: resources, figures, health, and its description of itself."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from tests.conformance.conftest import QUICK_GROUPS, NewName
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic, produce_all, read_topic
from tests.support.deadline import eventually
from tests.support.http import HttpAnswer, metrics, request


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One for all tests of this module, which use names of their own."""
    with BrokerProcess(tmp_path_factory.mktemp("admin") / "data", QUICK_GROUPS) as started:
        yield started


@pytest.fixture
def client(broker: BrokerProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def ask(
    broker: BrokerProcess, path: str, method: str = "GET", body: object = None, **headers: str
) -> HttpAnswer:
    return request(broker.admin_url, path, method, body, headers)


# --- topics


def test_the_life_of_a_topic(broker: BrokerProcess, new_topic: NewName) -> None:
    topic = new_topic()
    wanted = {"name": topic, "partitions": 3, "config": {"retention.ms": "7d"}}
    made = ask(broker, "/v1/topics", "POST", wanted)
    assert made.status == 201
    assert made.headers["location"] == f"/v1/topics/{topic}"
    assert made.json["config"] == {"retention.ms": "604800000"}
    assert [each["leader"] for each in made.json["partitions"]] == [1, 1, 1]

    produce_all(broker.bootstrap, topic, [f"{number}" for number in range(50)])
    described = ask(broker, f"/v1/topics/{topic}").json
    assert sum(each["high_watermark"] for each in described["partitions"]) == 50
    listed = {each["name"]: each for each in ask(broker, "/v1/topics").json["topics"]}
    assert listed[topic]["record_count"] == listed[topic]["messages_in"] == 50
    assert listed[topic]["size_bytes"] == listed[topic]["bytes_in"] > 50

    change = {"config": {"retention.ms": None, "segment.bytes": "1MiB"}}
    assert ask(broker, f"/v1/topics/{topic}", "PATCH", change).json["config"] == {"segment.bytes": "1048576"}
    assert ask(broker, f"/v1/topics/{topic}", "DELETE").status == 204
    assert ask(broker, f"/v1/topics/{topic}").status == 404
    assert ask(broker, f"/v1/topics/{topic}", "DELETE").error_code == "unknown_topic_or_partition"


def test_what_a_topic_cannot_be(broker: BrokerProcess, new_topic: NewName) -> None:
    topic = new_topic()

    def refused(body: object) -> tuple[int, str]:
        answer = ask(broker, "/v1/topics", "POST", body)
        assert answer.json["error"]["message"]
        assert answer.json["error"]["cure"]
        return answer.status, answer.error_code

    assert refused({"name": "no spaces"}) == (400, "invalid_topic_name")
    assert refused({"name": topic, "partitions": 0})[0] == 400
    assert refused({"name": topic, "replication_factor": 3}) == (400, "invalid_replication_factor")
    assert refused({"name": topic, "config": {"retention.ms": "soon"}}) == (400, "invalid_config")
    assert refused({"name": topic, "config": {"no.such": "1"}}) == (400, "invalid_config")
    assert refused({"name": topic, "partition": 1}) == (400, "bad_body")
    assert refused({"partitions": 1}) == (400, "bad_body")
    assert refused(b"{") == (400, "bad_body")
    assert refused([]) == (400, "bad_body")
    assert ask(broker, "/v1/topics", "POST", {"name": topic}).status == 201
    assert refused({"name": topic}) == (409, "topic_already_exists")
    change = {"config": {"retention.ms": "1", "segment.bytes": "little"}}
    assert ask(broker, f"/v1/topics/{topic}", "PATCH", change).error_code == "invalid_config"
    assert ask(broker, f"/v1/topics/{topic}").json["config"] == {}, "all of a change or none"


def test_topics_are_listed_in_pages(broker: BrokerProcess, new_topic: NewName) -> None:
    for _ in range(5):
        ask(broker, "/v1/topics", "POST", {"name": new_topic()})
    names: list[str] = []
    after = ""
    while True:
        page = ask(broker, f"/v1/topics?limit=2&after={quote(after)}").json
        assert len(page["topics"]) <= 2
        names += [each["name"] for each in page["topics"]]
        if page["next_after"] is None:
            break
        after = page["next_after"]
    assert names == sorted(names)
    assert len(names) == page["total_count"]
    public = [each["name"] for each in ask(broker, "/v1/topics?internal=false").json["topics"]]
    assert not [name for name in public if name.startswith("__")]
    for query in ("limit=0", "limit=10001", "limit=ten", "internal=perhaps"):
        assert ask(broker, f"/v1/topics?{query}").error_code == "bad_parameter"


# --- groups


@pytest.mark.parametrize("group_id", ["plain", "with/a slash", 'quote"back\\slash', "ünïcode"])
def test_a_group_with_its_members_and_lag(
    broker: BrokerProcess, client: AdminClient, new_topic: NewName, group_id: str
) -> None:
    topic = create_topic(client, new_topic(), 2)
    produce_all(broker.bootstrap, topic, [{"value": b"x", "partition": number % 2} for number in range(20)])
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": group_id, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    path = "/v1/groups/" + quote(group_id, safe="")
    eventually(lambda: consumer.poll(0.1), "a record")
    consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)

    group = ask(broker, path).json
    assert group["state"] == "Stable"
    (member,) = group["members"]
    assert member["assignment"] == [{"topic": topic, "partitions": [0, 1]}]
    (offset,) = group["offsets"]
    assert (offset["partition"], offset["committed_offset"], offset["lag"]) == (0, 4, 6)
    assert group["total_lag"] == 6
    escaped = group_id.replace("\\", "\\\\").replace('"', '\\"')
    assert (
        metrics(broker.admin_url)[f'mainstem_group_lag{{group="{escaped}",topic="{topic}",partition="0"}}']
        == 6
    )
    assert group_id in [each["group_id"] for each in ask(broker, "/v1/groups").json["groups"]]

    assert ask(broker, path, "DELETE").error_code == "non_empty_group"
    consumer.close()
    assert ask(broker, path).json["state"] == "Empty"
    assert ask(broker, path, "DELETE").status == 204
    assert ask(broker, path).status == 404


def test_a_deleted_topic_takes_its_offsets_along(
    broker: BrokerProcess, client: AdminClient, new_topic: NewName, new_group: NewName
) -> None:
    gone, stays = create_topic(client, new_topic()), create_topic(client, new_topic())
    group = new_group()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(gone, 0, 0), TopicPartition(stays, 0, 0)], asynchronous=False)
    consumer.close()
    ask(broker, f"/v1/topics/{gone}", "DELETE")

    def topics_with_offsets() -> list[str]:
        return [each["topic"] for each in ask(broker, f"/v1/groups/{group}").json["offsets"]]

    eventually(lambda: topics_with_offsets() == [stays], "the offsets of the deleted topic to go")


def test_the_topic_of_the_groups_stays(
    broker: BrokerProcess, client: AdminClient, new_topic: NewName, new_group: NewName
) -> None:
    topic = create_topic(client, new_topic())
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": new_group()})
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()
    assert ask(broker, "/v1/topics/__consumer_offsets", "DELETE").error_code == "internal_topic"


# --- the node


def test_what_the_broker_says_of_itself(broker: BrokerProcess) -> None:
    detail = ask(broker, "/v1/broker").json
    assert detail["listeners"] == {
        "kafka": broker.bootstrap,
        "admin": broker.admin_url.removeprefix("http://"),
    }
    assert detail["advertised"] == broker.bootstrap
    assert detail["phase"] == "serving"
    assert detail["controller_id"] == detail["node_id"] == 1
    (directory,) = ask(broker, "/v1/log-dirs").json["log_directories"]
    assert directory["is_online"]
    assert 0 < directory["usable_bytes"] < directory["total_bytes"]


def test_health(broker: BrokerProcess) -> None:
    assert ask(broker, "/health/live").json == {"status": "live"}
    ready = ask(broker, "/health/ready")
    assert (ready.status, ready.json) == (200, {"status": "ready", "reasons": [], "warnings": []})
    assert ask(broker, "/health/ready", "HEAD").content == b""


def test_options_that_change_at_run_time_are_in_force_at_once(
    broker: BrokerProcess, client: AdminClient, new_topic: NewName
) -> None:
    topic = create_topic(client, new_topic())

    def alter(name: str, value: str | None) -> None:
        operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        entry = ConfigEntry(name, value or "", incremental_operation=operation)
        resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
        client.incremental_alter_configs([resource])[resource].result(10)

    def setting(name: str) -> tuple[str, str]:
        found = {each["name"]: each for each in ask(broker, "/v1/config").json["settings"]}[name]
        return found["value"], found["source"]

    alter("message.max.bytes", "2000")
    assert setting("message.max.bytes") == ("2000", "dynamic_broker")
    with pytest.raises(AssertionError, match="MSG_SIZE_TOO_LARGE"):
        produce_all(broker.bootstrap, topic, [b"x" * 3000])
    alter("message.max.bytes", None)
    produce_all(broker.bootstrap, topic, [b"x" * 3000])

    alter("max.connections", "0")
    try:
        before = metrics(broker.admin_url)["mainstem_connections_refused_total"]
        with socket.create_connection((broker.host, broker.port)) as refused:
            assert _is_closed(refused, patience_s=10)
        assert metrics(broker.admin_url)["mainstem_connections_refused_total"] > before
    finally:
        alter("max.connections", None)
    assert setting("max.connections") == ("2147483647", "default")


# --- the figures


def test_the_figures_of_a_partition_and_of_requests(
    broker: BrokerProcess, client: AdminClient, new_topic: NewName
) -> None:
    topic = create_topic(client, new_topic())
    before = metrics(broker.admin_url)
    produce_all(broker.bootstrap, topic, [b"x" * 100] * 1000)
    assert len(read_topic(broker.bootstrap, topic)) == 1000
    after = metrics(broker.admin_url)

    def of_partition(name: str) -> float:
        return after[f'mainstem_{name}{{topic="{topic}",partition="0"}}']

    assert of_partition("log_start_offset") == 0
    assert of_partition("log_end_offset") == of_partition("high_watermark") == 1000
    assert of_partition("messages_in_total") == 1000
    assert of_partition("bytes_in_total") == of_partition("log_size_bytes") > 100_000
    assert of_partition("bytes_out_total") >= of_partition("bytes_in_total")
    assert of_partition("log_segments") == 1
    produced = 'mainstem_request_seconds_count{api="Produce"}'
    assert after[produced] > before.get(produced, 0)
    assert after[produced] == after['mainstem_request_seconds_bucket{api="Produce",le="+Inf"}']
    received, sent = "mainstem_network_in_bytes_total", "mainstem_network_out_bytes_total"
    assert after[received] - before[received] > 100_000
    assert after[sent] - before[sent] > 100_000


def test_the_page_of_figures_is_well_formed(broker: BrokerProcess) -> None:
    page = ask(broker, "/metrics")
    assert page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    described: set[str] = set()
    current = ""
    sample = re.compile(r'(mainstem_\w+)(\{\w+="(?:[^"\\]|\\.)*"(?:,\w+="(?:[^"\\]|\\.)*")*\})? \S+')
    for line in page.text.splitlines():
        if line.startswith("# HELP "):
            current = line.split()[2]
            assert current not in described, f"{current} is there twice"
            described.add(current)
        elif line.startswith("# TYPE "):
            assert line.split()[2:] in ([current, kind] for kind in ("counter", "gauge", "histogram"))
        else:
            matched = sample.fullmatch(line)
            assert matched is not None, line
            assert re.sub("_(bucket|sum|count)$", "", matched[1]) == current or matched[1] == current


def test_histograms_only_rise(broker: BrokerProcess) -> None:
    seen: dict[str, float] = {}
    for name, value in metrics(broker.admin_url).items():
        if "_bucket" in name:
            family = re.sub(r'le="[^"]*"', "", name)
            assert value >= seen.get(family, 0)
            seen[family] = value
    assert any("request_seconds" in name for name in seen)
    assert any("loop_lag" in name for name in seen)


# --- the description of itself


def _example_path(path: str) -> str:
    return path.replace("{name}", "nothing-of-that-name").replace("{group_id}", "nothing-of-that-name")


def test_every_described_operation_is_served_as_described(broker: BrokerProcess) -> None:
    document = ask(broker, "/openapi.json").json
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for method, described in operations.items():
            body = b"not json" if "requestBody" in described else None
            answer = ask(broker, _example_path(path), method.upper(), body)
            assert str(answer.status) in described["responses"], (method, path, answer)
            content = described["responses"][str(answer.status)].get("content")
            if content is None:
                assert answer.content == b""
                continue
            (media_type,) = content
            assert answer.headers["content-type"] == media_type
            if media_type == "application/json":
                _check(answer.json, content[media_type]["schema"], document["components"]["schemas"])
        refused = ask(broker, _example_path(path), "PURGE")
        assert refused.status == 405
        offered = {method.upper() for method in operations}
        assert set(refused.headers["allow"].split(", ")) - {"HEAD"} == offered


def _check(value: Any, schema: dict[str, Any], components: dict[str, Any]) -> None:
    """As much of JSON Schema as the document uses."""
    if "$ref" in schema:
        _check(value, components[schema["$ref"].rpartition("/")[2]], components)
    elif "anyOf" in schema:
        kinds = {"null": type(None), "string": str, "integer": int, "array": list}
        assert any(isinstance(value, kinds.get(each.get("type"), object)) for each in schema["anyOf"])
    elif schema.get("type") == "object":
        assert isinstance(value, dict)
        for name in schema.get("required", ()):
            assert name in value
        for name, inner in value.items():
            known = schema.get("properties")
            if known is not None:
                assert name in known, f"{name} is not described"
                _check(inner, known[name], components)
    elif schema.get("type") == "array":
        assert isinstance(value, list)
        for inner in value:
            _check(inner, schema["items"], components)
    elif schema.get("type") == "integer":
        assert isinstance(value, int)
    elif schema.get("type") == "string":
        assert isinstance(value, str)


def test_the_page_for_people_links_to_what_there_is(broker: BrokerProcess) -> None:
    page = ask(broker, "/")
    assert page.headers["content-type"].startswith("text/html")
    links = re.findall(r'href="([^"]+)"', page.text)
    assert "/metrics" in links
    for link in links:
        assert link.startswith("/"), "nothing comes from elsewhere"
        assert ask(broker, link).status == 200
    assert "<script" not in page.text


# --- what it does not do


def test_nothing_is_found_where_nothing_is(broker: BrokerProcess) -> None:
    for path in ("/nothing", "/v1", "/v1/topics/a/b", "/metrics/", "/../etc/passwd"):
        answer = ask(broker, path)
        assert (answer.status, answer.error_code) == (404, "not_found")


def test_a_body_that_is_too_large_or_no_json_is_refused(broker: BrokerProcess) -> None:
    large = ask(broker, "/v1/topics", "POST", b'{"name":"' + b"x" * (2 << 20) + b'"}')
    assert (large.status, large.error_code) == (413, "body_too_large")
    form = ask(
        broker, "/v1/topics", "POST", b"name=x", **{"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert (form.status, form.error_code) == (415, "not_json")


def test_a_foreign_name_for_a_node_on_loopback_is_refused(broker: BrokerProcess) -> None:
    assert ask(broker, "/v1/topics", Host="attacker.example").error_code == "foreign_host"
    assert ask(broker, "/v1/topics", Host=f"localhost:{broker.port}").status == 200


def test_many_visitors_at_once(broker: BrokerProcess) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: ask(broker, "/metrics").status, range(64)))
    assert answers == [200] * 64


def test_idle_visitors_are_bounded_and_the_broker_serves_on(broker: BrokerProcess) -> None:
    host, _, port = broker.admin_url.removeprefix("http://").rpartition(":")
    idle = [socket.create_connection((host, int(port))) for _ in range(300)]
    try:
        time.sleep(0.2)
        produce_all(broker.bootstrap, "while-they-wait", ["x"])
        closed = sum(_is_closed(each, patience_s=0.01) for each in idle)
        assert closed >= 40
    finally:
        for each in idle:
            each.close()
    eventually(lambda: ask(broker, "/health/live").status == 200, "room for visitors")


def _is_closed(connection: socket.socket, patience_s: float) -> bool:
    connection.settimeout(patience_s)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True
