"""For each API: allowed, and denied for each permission that it needs; through the real dispatcher."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode
from tests.unit.heads.kafka.apis.test_every_api import EACH_VERSION, named
from tests.unit.heads.kafka.authorization.cases import AUTHORIZATION_CODES, CASES, TOPIC, Case, Need

from mainstem.core.identity.acl import AccessRule, Permission, ResourcePattern
from mainstem.core.identity.principal import Principal
from mainstem.heads.kafka.authorization.table import CHECKS, check_table
from mainstem.wire.kafka.apis import APIS, request_class, response_class
from mainstem.wire.kafka.message import Message

ALICE = Principal("User", "alice")
ROOT = Principal("User", "root")

# What asks for nothing, and what only leaves out of its answer what one may not see.
WITHOUT_REFUSALS = {"SaslHandshake", "ApiVersions", "SaslAuthenticate", "DescribeCluster"}
FILTERED = {"ListGroups", "ListTransactions"}


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[KafkaNode]:
    node = KafkaNode(tmp_path, {"authorizer.class.name": "standard", "super.users": "User:root"})
    await node.start()
    await node.create_topic(TOPIC)
    yield node
    await node.stop()


def grant(node: KafkaNode, needs: Iterable[Need]) -> None:
    assert node.authorizer is not None
    rules = {
        ResourcePattern(need.type, need.name): (
            AccessRule(str(ALICE), "*", need.operation, Permission.ALLOW),
        )
        for need in needs
    }
    several = {
        pattern: tuple(
            AccessRule(str(ALICE), "*", need.operation, Permission.ALLOW)
            for need in needs
            if ResourcePattern(need.type, need.name) == pattern
        )
        for pattern in rules
    }
    node.authorizer.use(several)


def error_codes(message: Message) -> set[int]:
    found: set[int] = set()
    for field in message.SCHEMA.fields:
        value = getattr(message, field.name)
        if field.name.endswith("error_code"):
            found.add(value)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Message):
                found |= error_codes(each)
    return found


async def ask(node: KafkaNode, case: Case, version: int, principal: Principal = ALICE) -> set[int]:
    request = case.request(node.broker.image.topics[TOPIC].topic_id)
    peer = node.peer(principal=principal)
    answer = await peer.send(request, version)
    assert not peer.channel.is_closed, (case.name, version)
    return error_codes(answer)


def is_served(node: KafkaNode, case: Case) -> bool:
    return case.request(b"?" * 16).SCHEMA.key in node.head.apis


async def test_whoever_lacks_a_permission_is_refused_and_told_which(node: KafkaNode) -> None:
    for case in CASES:
        if not is_served(node, case):
            continue
        for version in case.versions:
            for missing in case.needs:
                if case.name == "CreateTopics" and version < 5 and missing is case.needs[1]:
                    continue  # it tells no configuration yet
                grant(node, [need for need in case.needs if need is not missing])
                codes = await ask(node, case, version)
                assert codes & AUTHORIZATION_CODES == {missing.code}, (case.name, version, missing)
    assert node.head.meters.unexpected_errors == 0


async def test_whoever_has_all_permissions_is_not_refused(node: KafkaNode) -> None:
    for case in CASES:
        if is_served(node, case):
            for version in case.versions:
                if case.name == "DeleteTopics by id":
                    await node.create_topic(TOPIC) if TOPIC not in node.broker.image.topics else None
                grant(node, case.needs)
                codes = await ask(node, case, version)
                assert not codes & AUTHORIZATION_CODES, (case.name, version)
    assert node.head.meters.unexpected_errors == 0


async def test_a_super_user_is_never_refused(node: KafkaNode) -> None:
    grant(node, ())
    for case in CASES:
        if is_served(node, case):
            codes = await ask(node, case, case.versions[-1], ROOT)
            assert not codes & AUTHORIZATION_CODES, case.name


async def test_every_api_that_is_advertised_has_a_case(node: KafkaNode) -> None:
    checked = {case.request(b"?" * 16).SCHEMA.key for case in CASES}
    for key in node.head.apis:
        name = APIS[key].name
        assert key in CHECKS, f"{name}: say in authorization/table.py what it asks for"
        if CHECKS[key].asks.startswith("nothing") or name in FILTERED:
            continue
        assert key in checked, f"{name}: write a case of it in cases.py"


async def test_every_api_whose_items_are_refused_one_by_one_can_refuse_them(node: KafkaNode) -> None:
    """Else what is refused beside others would have no answer."""
    for key, api in node.head.apis.items():
        run = CHECKS[key].run
        if run is not None and run.__qualname__.startswith("each."):
            assert api.handler is not None
            assert api.handler.refuse is not None, f"{APIS[key].name} needs a refuse of its own"


def test_an_api_without_a_line_is_not_served() -> None:
    with pytest.raises(ValueError, match="has no line"):
        check_table([*CHECKS, 85])


async def test_who_may_nothing_gets_an_answer_from_every_api_in_every_version(node: KafkaNode) -> None:
    grant(node, ())
    for api, version in EACH_VERSION:
        peer = node.peer(principal=ALICE)
        answer = await peer.send(request_class(api.key)(), version)
        assert type(answer) is response_class(api.key), named(api, version)
        assert not peer.channel.is_closed, named(api, version)
    assert node.head.meters.unexpected_errors == 0
