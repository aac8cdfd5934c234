"""Quotas as clients feel them: slowed down to what they may take, and nothing is lost."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.conformance.conftest import QUICK_GROUPS, NewName
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic, produce_all, read_topic
from tests.support.deadline import eventually
from tests.support.http import HttpAnswer, metrics, request
from tests.support.mainstem_command import MainstemCommand

RATE = 400_000
VALUE = bytes(5_000)
COUNT = 400  # two megabytes: five seconds' worth
SPAN_S = 2.0  # what may be taken at once is at most what the windows below hold


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    options = {**QUICK_GROUPS, "quota.window.num": "2", "controller.quota.window.num": "2"}
    with BrokerProcess(tmp_path_factory.mktemp("quotas") / "data", options) as started:
        yield started


@pytest.fixture
def client(broker: BrokerProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def mainstem(broker: BrokerProcess) -> MainstemCommand:
    return MainstemCommand(broker.bootstrap)


def change(broker: BrokerProcess, entity: dict[str, str | None], **limits: float | None) -> HttpAnswer:
    return request(broker.admin_url, "/v1/quotas", "PATCH", {"entity": entity, "limits": limits})


def throttled_s(broker: BrokerProcess, quota: str, client_id: str) -> float:
    name = "mainstem_quota_throttled_seconds_total"
    return metrics(broker.admin_url)[f'{name}{{quota="{quota}",user="",client_id="{client_id}",ip=""}}']


def check_pace(elapsed_s: float, told_s: float, size: int, ahead_s: float = 0.0) -> None:
    """A busy machine makes a client slower than its quota, never faster; and the broker must not ask it to
    wait longer than the quota needs. `ahead_s`: what was taken beyond the size, and waited for too."""
    needed_s = size / RATE
    assert elapsed_s >= (needed_s - SPAN_S) * 0.9
    assert 0 < told_s <= needed_s * 1.1 + ahead_s


def test_a_producer_over_its_quota_is_slowed_down_and_loses_nothing(
    broker: BrokerProcess, client: AdminClient, new_name: NewName, mainstem: MainstemCommand
) -> None:
    topic, who = create_topic(client, new_name()), new_name("client")
    mainstem.ok("quota", "set", f"producer_byte_rate={RATE}", "--client-id", who)
    options = {"client.id": who, "batch.size": 20_000, "enable.idempotence": True}
    begun = time.monotonic()
    values = [b"%06d" % number + VALUE for number in range(COUNT)]
    produce_all(broker.bootstrap, topic, values, options)
    elapsed_s = time.monotonic() - begun
    check_pace(elapsed_s, throttled_s(broker, "producer_byte_rate", who), COUNT * len(VALUE))
    assert [message.value() for message in read_topic(broker.bootstrap, topic)] == values


def test_a_consumer_over_its_quota_is_slowed_down_and_loses_nothing(
    broker: BrokerProcess, client: AdminClient, new_name: NewName, mainstem: MainstemCommand
) -> None:
    topic, who = create_topic(client, new_name()), new_name("client")
    values = [b"%06d" % number + VALUE for number in range(COUNT)]
    produce_all(broker.bootstrap, topic, values, {"batch.size": 20_000})
    mainstem.ok("quota", "set", "consumer_byte_rate=400kB", "--client-id", who)
    begun = time.monotonic()
    messages = read_topic(broker.bootstrap, topic, {"client.id": who, "fetch.message.max.bytes": 50_000})
    elapsed_s = time.monotonic() - begun
    check_pace(elapsed_s, throttled_s(broker, "consumer_byte_rate", who), COUNT * len(VALUE), SPAN_S)
    assert [message.value() for message in messages] == values


def test_a_fetch_that_asks_for_more_than_its_quota_still_gets_on(
    broker: BrokerProcess, client: AdminClient, new_name: NewName, mainstem: MainstemCommand
) -> None:
    topic, who = create_topic(client, new_name()), new_name("client")
    produce_all(broker.bootstrap, topic, [bytes(50_000)] * 3)
    mainstem.ok("quota", "set", "consumer_byte_rate=100000", "--client-id", who)
    assert len(read_topic(broker.bootstrap, topic, {"client.id": who})) == 3


def test_an_older_client_makes_its_topics_and_waits(
    broker: BrokerProcess, client: AdminClient, new_name: NewName, mainstem: MainstemCommand
) -> None:
    who = new_name("client")
    mainstem.ok("quota", "set", "controller_mutation_rate=5", "--client-id", who)
    limited = AdminClient({"bootstrap.servers": broker.bootstrap, "client.id": who})
    names = [new_name(str(number)) for number in range(3)]
    made = limited.create_topics([NewTopic(name, 5, 1) for name in names])
    for future in made.values():
        future.result(20)
    assert set(names) <= set(client.list_topics(timeout=10).topics)
    assert throttled_s(broker, "controller_mutation_rate", who) > 0


def test_a_newer_client_is_told_that_its_changes_are_used_up(
    new_name: NewName, mainstem: MainstemCommand
) -> None:
    first, second = new_name("first"), new_name("second")
    mainstem.ok("quota", "set", "controller_mutation_rate=0.5", "--client-id", "mainstem-cli")
    try:
        mainstem.ok("topic", "create", first, "--partitions", 50)
        refused = mainstem.run("topic", "create", second)
        assert refused.code == 1
        assert "try again in" in refused.stderr
    finally:
        mainstem.ok("quota", "remove", "--client-id", "mainstem-cli")
    mainstem.ok("topic", "create", second)


def greets(address: tuple[str, int]) -> bool:
    """Whether a new connection is answered, and not held and closed."""
    with socket.create_connection(address, timeout=20) as connection:
        body = struct.pack(">hhih", 18, 0, 1, -1)
        try:
            connection.sendall(struct.pack(">i", len(body)) + body)
            return bool(connection.recv(4))
        except ConnectionError:
            return False


def test_an_address_that_connects_too_often_is_held_off(broker: BrokerProcess) -> None:
    address = (broker.host, broker.port)
    assert change(broker, {"ip": broker.host}, connection_creation_rate=4).status == 200
    try:
        answered = [greets(address) for _ in range(12)]
        assert answered[0]
        assert not all(answered)
        assert metrics(broker.admin_url)["mainstem_connections_throttled_total"] > 0
        eventually(lambda: greets(address), "a connection after a while")
    finally:
        assert change(broker, {"ip": broker.host}, connection_creation_rate=None).status == 200
    assert all(greets(address) for _ in range(12))


def test_quotas_outlive_the_broker(broker: BrokerProcess, mainstem: MainstemCommand) -> None:
    mainstem.ok("quota", "set", "request_percentage=12.5", "--default", "user", "--client-id", "a/b & c=d")
    broker.stop()
    broker.start()
    (found,) = mainstem.ok(
        "quota", "describe", "--default", "user", "--client-id", "a/b & c=d", "--json"
    ).document
    assert found == {
        "entity": {"user": None, "client-id": "a/b & c=d"},
        "limits": {"request_percentage": 12.5},
    }


def test_the_command_says_what_is_wrong(mainstem: MainstemCommand) -> None:
    mainstem.ok("quota", "set", "producer_byte_rate=1MiB", "consumer_byte_rate=5", "--user", "alice")
    table = mainstem.ok("quota", "list").stdout
    assert "user alice" in table
    assert "1048576" in table
    mainstem.ok("quota", "remove", "consumer_byte_rate", "--user", "alice")
    listed = mainstem.ok("quota", "list", "--json").document
    assert {"entity": {"user": "alice"}, "limits": {"producer_byte_rate": 1048576.0}} in listed

    def error(*arguments: str) -> tuple[int, str]:
        done = mainstem.run("quota", *arguments)
        return done.code, done.stderr

    assert error("describe", "--user", "bob")[0] == 1
    code, told = error("remove", "consumer_byte_rate", "--user", "alice")
    assert (code, "consumer_byte_rate" in told) == (1, True)
    assert error("set", "producer_byte_rate=1")[0] == 2
    assert error("set", "producer_byte_rate=fast", "--user", "alice")[0] == 2
    assert error("set", "producer_byte_rate=1", "--user", "a", "--default", "user")[0] == 2
    code, told = error("set", "producer_byte_rate=0", "--user", "alice")
    assert (code, "1 or more" in told) == (1, True)
    code, told = error("set", "speed=1", "--user", "alice")
    assert (code, "producer_byte_rate" in told) == (1, True)


def test_the_admin_interface_lists_sets_and_refuses(broker: BrokerProcess) -> None:
    entity: dict[str, str | None] = {"user": "carol", "client-id": None}
    made = change(broker, entity, producer_byte_rate=77, request_percentage=1.5)
    assert made.json == {"entity": entity, "limits": {"producer_byte_rate": 77.0, "request_percentage": 1.5}}
    assert made.json in request(broker.admin_url, "/v1/quotas").json["quotas"]
    refused = change(broker, entity, producer_byte_rate=-1)
    assert (refused.status, refused.error_code) == (400, "invalid_request")
    assert change(broker, {"team": "x"}, producer_byte_rate=1).status == 400
    assert change(broker, entity, producer_byte_rate=None, request_percentage=None).json["limits"] == {}
    assert all(each["entity"] != entity for each in request(broker.admin_url, "/v1/quotas").json["quotas"])
