"""DescribeAcls, CreateAcls and DeleteAcls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.core.identity.principal import Principal
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from mainstem.wire.kafka.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from mainstem.wire.kafka.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from mainstem.wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

ANY, TOPIC, MATCH, LITERAL, PREFIXED, READ, WRITE, ALLOW = 1, 2, 2, 3, 4, 3, 4, 3
VERSIONS = range(1, 4)
ROOT = Principal("User", "root")


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[KafkaNode]:
    options = {"authorizer.class.name": "standard", "super.users": "User:root"}
    node = await KafkaNode(tmp_path, options).start()
    yield node
    await node.stop()


@pytest.fixture
def root(guarded: KafkaNode) -> Peer:
    return guarded.peer(principal=ROOT)


def creation(name: str, operation: int = READ, kind: int = LITERAL, user: str = "User:alice") -> AclCreation:
    return AclCreation(
        resource_type=TOPIC,
        resource_name=name,
        resource_pattern_type=kind,
        principal=user,
        host="*",
        operation=operation,
        permission_type=ALLOW,
    )


def filter_values(name: str | None = None, kind: int = ANY, operation: int = ANY) -> dict[str, object]:
    return {
        "resource_type_filter": ANY,
        "resource_name_filter": name,
        "pattern_type_filter": kind,
        "principal_filter": None,
        "host_filter": None,
        "operation": operation,
        "permission_type": ANY,
    }


async def create(peer: Peer, version: int, *creations: AclCreation) -> list[int]:
    request = CreateAclsRequest(creations=list(creations))
    answer = await peer.ask(request, CreateAclsResponse, version)
    return [result.error_code for result in answer.results]


async def described(peer: Peer, version: int, **asked: object) -> list[tuple[str, int, int]]:
    request = DescribeAclsRequest(**{**filter_values(), **asked})
    answer = await peer.ask(request, DescribeAclsResponse, version)
    assert answer.error_code == 0
    return [
        (resource.resource_name, resource.pattern_type, rule.operation)
        for resource in answer.resources
        for rule in resource.acls
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_rules_are_made_found_and_removed(root: Peer, version: int) -> None:
    made = [creation("orders"), creation("orders", WRITE), creation("ord", READ, PREFIXED)]
    assert await create(root, version, *made) == [0, 0, 0]
    everything = [("orders", LITERAL, READ), ("orders", LITERAL, WRITE), ("ord", PREFIXED, READ)]
    assert await described(root, version) == everything
    found = await described(root, version, resource_name_filter="ordnance", pattern_type_filter=MATCH)
    assert found == everything[2:]
    asked = DeleteAclsFilter(**filter_values("orders", LITERAL, READ))
    answer = await root.ask(DeleteAclsRequest(filters=[asked, asked]), DeleteAclsResponse, version)
    for result in answer.filter_results:
        assert result.error_code == 0
        (taken,) = result.matching_acls
        assert (taken.error_code, taken.resource_name, taken.principal) == (0, "orders", "User:alice")
    assert await described(root, version) == everything[1:]


async def test_a_rule_counts_when_its_creation_is_answered(guarded: KafkaNode, root: Peer) -> None:
    await guarded.create_topic("orders")
    alice = guarded.peer(principal=Principal("User", "alice"))
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])

    async def code() -> int:
        return (await alice.ask(asked, MetadataResponse, 12)).topics[0].error_code

    assert await code() == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    await create(root, 3, creation("orders"))
    assert await code() == 0
    await root.ask(DeleteAclsRequest(filters=[DeleteAclsFilter(**filter_values())]), DeleteAclsResponse, 3)
    assert await code() == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_is_no_rule_is_refused_in_its_place(root: Peer, version: int) -> None:
    bad = creation("orders")
    bad.operation = 99
    nameless = creation("")
    stranger = creation("orders", user="alice")
    codes = await create(root, version, bad, creation("orders"), nameless, stranger)
    invalid = ErrorCode.INVALID_REQUEST
    assert codes == [invalid, 0, invalid, invalid]


@pytest.mark.parametrize("field", ["resource_type_filter", "pattern_type_filter", "operation"])
async def test_a_filter_of_what_nobody_knows_is_refused(root: Peer, field: str) -> None:
    values = {**filter_values(), field: 77}
    found = await root.ask(DescribeAclsRequest(**values), DescribeAclsResponse, 3)
    assert found.error_code == ErrorCode.INVALID_REQUEST
    asked = DeleteAclsRequest(filters=[DeleteAclsFilter(**values)])
    removed = await root.ask(asked, DeleteAclsResponse, 3)
    assert removed.filter_results[0].error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_broker_that_keeps_no_rules_says_so(node: KafkaNode, peer: Peer, version: int) -> None:
    disabled = ErrorCode.SECURITY_DISABLED
    assert await create(peer, version, creation("orders")) == [disabled]
    found = await peer.ask(DescribeAclsRequest(**filter_values()), DescribeAclsResponse, version)
    assert found.error_code == disabled
    assert "authorizer.class.name" in (found.error_message or "")
    asked = DeleteAclsRequest(filters=[DeleteAclsFilter(**filter_values())])
    removed = await peer.ask(asked, DeleteAclsResponse, version)
    assert removed.filter_results[0].error_code == disabled
    assert node.broker.image.acls == {}
