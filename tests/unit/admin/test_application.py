"""What every request goes through: who is asked for, what is offered, what may come in, how long it takes."""

from __future__ import annotations

import asyncio
import logging

import pytest
from starlette.requests import ClientDisconnect
from tests.support.kafka_node import KafkaNode
from tests.unit.admin.site import Site, admin_node, site_of

from mainstem.admin import application
from mainstem.admin.application import MAX_BODY_BYTES, OPERATIONS, is_own_host
from mainstem.config.value import HostPort


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("127.0.0.1:9644", True),
        ("127.0.0.1", True),
        ("127.8.9.1:9644", True),
        ("localhost:9644", True),
        ("localhost", True),
        ("[::1]:9644", True),
        ("[::1]", True),
        ("", False),
        ("evil.example:9644", False),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:9644", False),
        ("192.0.2.1:9644", False),
    ],
)
def test_on_loopback_only_its_own_names_are_believed(host: str, is_own: bool) -> None:
    for bound in ("127.0.0.1", "::1", "localhost"):
        assert is_own_host(host, bound) is is_own
    assert is_own_host(host, "0.0.0.0")


async def test_a_foreign_name_is_refused_whatever_is_asked(site: Site) -> None:
    for method, path in (("GET", "/v1/topics"), ("DELETE", "/v1/topics/t"), ("GET", "/nothing")):
        reply = await site.ask(method, path, headers={"host": "evil.example"})
        assert (reply.status, reply.error_code) == (403, "foreign_host")


async def test_a_node_that_is_bound_to_an_outer_address_is_found_by_any_name(kafka: KafkaNode) -> None:
    site = site_of(admin_node(kafka, listeners={"admin": HostPort("192.0.2.1", 9644)}))
    reply = await site.ask("GET", "/health/live", headers={"host": "broker.example"})
    assert reply.status == 200


async def test_what_is_not_there(site: Site) -> None:
    for path in ("/nothing", "/v1", "/v1/topics/", "/v1/topics/a/b", "//v1/topics"):
        reply = await site.ask("GET", path)
        assert (reply.status, reply.error_code) == (404, "not_found"), path


async def test_a_method_that_is_not_offered(site: Site) -> None:
    reply = await site.ask("PUT", "/v1/topics")
    assert (reply.status, reply.error_code) == (405, "method_not_allowed")
    assert reply.headers["allow"] == "GET, HEAD, POST"


async def test_what_answers_get_answers_head(site: Site) -> None:
    assert (await site.ask("HEAD", "/v1/broker")).status == 200
    assert (await site.ask("HEAD", "/v1/groups/none")).status == 404


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
async def test_what_a_foreign_page_could_send_is_not_taken(site: Site, kafka: KafkaNode, kind: str) -> None:
    reply = await site.ask("POST", "/v1/topics", {"name": "t"}, {"content-type": kind})
    assert (reply.status, reply.error_code) == (415, "not_json")
    assert "t" not in kafka.broker.image.topics


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"name": 1}',
        b'{"partitions": 1}',
        b'{"name": "t", "colour": "red"}',
        b"\xff",
    ],
)
async def test_a_body_that_is_not_as_declared(site: Site, body: bytes) -> None:
    reply = await site.ask("POST", "/v1/topics", body)
    assert (reply.status, reply.error_code) == (400, "bad_body")


async def test_a_body_is_bounded_however_it_comes(site: Site) -> None:
    piece = b" " * 1000
    chunks = [piece] * (MAX_BODY_BYTES // len(piece) + 2)
    reply = await site.ask("POST", "/v1/topics", chunks=chunks)
    assert (reply.status, reply.error_code) == (413, "body_too_large")


async def test_a_client_that_leaves_in_the_middle_of_its_body(site: Site, kafka: KafkaNode) -> None:
    with pytest.raises(ClientDisconnect):
        await site.ask("POST", "/v1/topics", chunks=[])
    assert "t" not in kafka.broker.image.topics


async def test_a_defect_is_told_as_one_and_not_what_it_is(
    site: Site, kafka: KafkaNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr(kafka.broker.groups, "list_groups", fail)
    with caplog.at_level(logging.ERROR):
        reply = await site.ask("GET", "/v1/groups")
    assert (reply.status, reply.error_code) == (500, "internal_error")
    assert b"secret" not in reply.content
    assert "a secret of ours" in caplog.text


async def test_what_takes_too_long_is_given_up(
    site: Site, kafka: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(application, "REQUEST_TIMEOUT_S", 0.01)
    monkeypatch.setattr(kafka.broker.groups, "describe", never)
    reply = await site.ask("GET", "/v1/groups/g")
    assert (reply.status, reply.error_code) == (503, "timed_out")


async def test_nothing_is_to_be_kept_by_caches(site: Site) -> None:
    assert (await site.ask("GET", "/v1/broker")).headers["cache-control"] == "no-store"


async def test_what_is_no_http_request_is_passed_over(site: Site) -> None:
    async def never(*_: object) -> None:
        raise AssertionError("nothing is to be received or sent")

    await site.application({"type": "lifespan"}, never, never)


def test_each_path_and_method_is_declared_once() -> None:
    declared = [(operation.method, operation.path) for operation in OPERATIONS]
    assert len(declared) == len(set(declared))


async def test_where_a_token_is_set_nothing_is_told_without_it(kafka: KafkaNode) -> None:
    site = site_of(admin_node(kafka, token="a-long-enough-token"))
    for headers in ({}, {"authorization": "Bearer other"}):
        reply = await site.ask("GET", "/health/live", headers=headers)
        assert (reply.status, reply.error_code) == (401, "no_token")
    reply = await site.ask("GET", "/health/live", headers={"authorization": "Bearer a-long-enough-token"})
    assert reply.status == 200
