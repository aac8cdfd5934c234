"""Log-in over the wire: what is served before it, its failures, its repetition and its end."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import struct
from dataclasses import replace

import pytest
from tests.support.deadline import eventually_async
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.client.scram import ScramLogin
from mainstem.core.identity.authenticator import Authenticator
from mainstem.core.identity.credentials import SCRAM_MECHANISMS, mechanism_named, salted_password
from mainstem.core.identity.principal import ANONYMOUS, Principal
from mainstem.core.ports import CredentialChange
from mainstem.heads.kafka.access import ListenerAccess, LoginRules
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from mainstem.wire.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mainstem.wire.kafka.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from mainstem.wire.kafka.messages.metadata import MetadataRequest, MetadataResponse
from mainstem.wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from mainstem.wire.kafka.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

ALICE = Principal("User", "alice")
PASSWORD = "a-password-that-must-not-show"
SCRAM = "SCRAM-SHA-256"


@pytest.fixture
async def rules(node: KafkaNode) -> LoginRules:
    await put_user(node.peer(), "alice", PASSWORD)
    await put_user(node.peer(), "bob", PASSWORD)
    authenticator = Authenticator(lambda: node.broker.image.users, os.urandom, failed_delay_ms=100)
    return LoginRules(authenticator, (SCRAM, "PLAIN"), 1024, 5_000, 10)


def upsertion(
    user: str, password: str, mechanism: str = SCRAM, iterations: int = 4096
) -> ScramCredentialUpsertion:
    scram = mechanism_named(mechanism)
    salt = b"salt of " + user.encode()
    return ScramCredentialUpsertion(
        name=user,
        mechanism=scram.wire_type,
        iterations=iterations,
        salt=salt,
        salted_password=salted_password(scram, password, salt, iterations),
    )


async def put_user(peer: Peer, user: str, password: str) -> None:
    request = AlterUserScramCredentialsRequest(upsertions=[upsertion(user, password)])
    response = await peer.ask(request, AlterUserScramCredentialsResponse, 0)
    assert [result.error_code for result in response.results] == [0]


async def shake_hands(peer: Peer, mechanism: str = "PLAIN", version: int = 1) -> SaslHandshakeResponse:
    return await peer.ask(SaslHandshakeRequest(mechanism=mechanism), SaslHandshakeResponse, version)


async def authenticate(peer: Peer, message: bytes, version: int = 2) -> SaslAuthenticateResponse:
    return await peer.ask(SaslAuthenticateRequest(auth_bytes=message), SaslAuthenticateResponse, version)


async def plain(peer: Peer, password: str = PASSWORD, user: str = "alice") -> SaslAuthenticateResponse:
    assert (await shake_hands(peer)).error_code == ErrorCode.NONE
    return await authenticate(peer, f"\0{user}\0{password}".encode())


async def asks_for_metadata(peer: Peer) -> bool:
    """Whether an ordinary request is answered."""
    task = peer.send(MetadataRequest(topics=[]), 12)
    await asyncio.sleep(0)
    if peer.channel.is_closed:
        task.cancel()
        return False
    assert isinstance(await task, MetadataResponse)
    return True


# --- the way in


@pytest.mark.parametrize("mechanism", [SCRAM, "PLAIN"])
async def test_a_user_logs_in_and_is_known_by_its_name(
    node: KafkaNode, rules: LoginRules, mechanism: str
) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    versions = await peer.ask(ApiVersionsRequest(), ApiVersionsResponse, 0)
    assert {17, 36, 3} <= {api.api_key for api in versions.api_keys}
    shaken = await shake_hands(peer, mechanism)
    assert (shaken.error_code, shaken.mechanisms) == (ErrorCode.NONE, [SCRAM, "PLAIN"])
    if mechanism == SCRAM:
        client = ScramLogin(SCRAM, "alice", PASSWORD)
        first = await authenticate(peer, client.first())
        done = await authenticate(peer, client.final(first.auth_bytes))
        client.verify(done.auth_bytes)
    else:
        done = await authenticate(peer, f"\0alice\0{PASSWORD}".encode())
    assert (done.error_code, done.session_lifetime_ms) == (ErrorCode.NONE, 0)
    assert peer.session.principal == ALICE
    assert await asks_for_metadata(peer)
    assert rules.authenticator.meters.succeeded == {mechanism: 1}
    assert node.head.newcomers.count == 0


@pytest.mark.parametrize("api", [MetadataRequest(topics=[]), AlterUserScramCredentialsRequest()])
async def test_before_it_nothing_else_is_served(
    node: KafkaNode, rules: LoginRules, api: MetadataRequest | AlterUserScramCredentialsRequest
) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    peer.send(api, 0).cancel()
    await asyncio.sleep(0)
    assert peer.channel.closed_because is not None
    assert "log-in" in peer.channel.closed_because
    assert peer.session.principal == ANONYMOUS


async def test_before_it_requests_are_small(node: KafkaNode, rules: LoginRules) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    peer.receive(struct.pack(">i", 1025))
    assert "sasl.server.max.receive.size" in (peer.channel.closed_because or "")
    again = node.peer(access=ListenerAccess(login=rules))
    await plain(again)
    again.receive(struct.pack(">i", 2000))
    assert not again.channel.is_closed


async def test_who_takes_too_long_is_closed(node: KafkaNode, rules: LoginRules) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    await shake_hands(peer)
    node.clock.advance(4_999)
    assert not peer.channel.is_closed
    node.clock.advance(1)
    assert "did not log in" in (peer.channel.closed_because or "")
    assert rules.authenticator.meters.too_slow == 1
    quick = node.peer(access=ListenerAccess(login=rules))
    await plain(quick)
    node.clock.advance(60_000)
    assert not quick.channel.is_closed


async def test_unfinished_log_ins_are_bounded(node: KafkaNode, rules: LoginRules) -> None:
    access = ListenerAccess(login=replace(rules, most_unfinished=4))
    first, second, third = (node.peer(access=access) for _ in range(3))
    assert not first.channel.is_closed
    assert not second.channel.is_closed
    assert "max.unfinished.handshakes" in (third.channel.closed_because or "")
    third.disconnect()
    assert node.head.newcomers.enter("192.0.2.7", 4)  # who comes from elsewhere finds a place
    node.head.newcomers.leave("192.0.2.7")
    first.disconnect()
    assert not node.peer(access=access).channel.is_closed


# --- the way it fails


async def failed(node: KafkaNode, peer: Peer, message: bytes) -> SaslAuthenticateResponse:
    task = peer.send(SaslAuthenticateRequest(auth_bytes=message), 2)
    await eventually_async(lambda: peer.session.login.state.value == "out", "the log-in fails")
    for _ in range(3):
        await asyncio.sleep(0)
    assert not task.done(), "the answer waits"
    node.clock.advance(10_000)
    response = await task
    assert isinstance(response, SaslAuthenticateResponse)
    await eventually_async(lambda: peer.channel.is_closed, "the connection closes behind the answer")
    return response


@pytest.mark.parametrize("user", ["alice", "nobody"])
async def test_a_wrong_password_is_answered_late_and_closes(
    node: KafkaNode, rules: LoginRules, caplog: pytest.LogCaptureFixture, user: str
) -> None:
    caplog.set_level(logging.DEBUG)
    peer = node.peer(access=ListenerAccess(login=rules))
    await shake_hands(peer)
    response = await failed(node, peer, f"\0{user}\0wrong-{PASSWORD}".encode())
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert response.error_message == "Authentication failed: Invalid username or password"
    assert rules.authenticator.meters.failed == {"PLAIN": 1}
    assert rules.authenticator.failures.failures_of("127.0.0.1") == 1
    assert f"'{user}'" in caplog.text
    assert PASSWORD not in caplog.text
    assert peer.session.principal == ANONYMOUS


async def test_an_unknown_mechanism_is_told_which_there_are(node: KafkaNode, rules: LoginRules) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    shaken = await shake_hands(peer, "GSSAPI")
    assert shaken.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert shaken.mechanisms == [SCRAM, "PLAIN"]
    assert peer.channel.is_closed


async def test_a_proof_before_the_handshake_is_refused(node: KafkaNode, rules: LoginRules) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    response = await authenticate(peer, f"\0alice\0{PASSWORD}".encode())
    assert response.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert peer.channel.is_closed


async def test_two_proofs_at_a_time_are_refused(node: KafkaNode, rules: LoginRules) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    await shake_hands(peer)
    message = SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong")
    first, second = peer.send(message, 2), peer.send(message, 2)
    await eventually_async(lambda: rules.authenticator.meters.failed != {}, "the first one fails")
    node.clock.advance(10_000)
    codes = sorted([(await first).error_code, (await second).error_code])  # type: ignore[attr-defined]
    assert codes == [ErrorCode.ILLEGAL_SASL_STATE, ErrorCode.SASL_AUTHENTICATION_FAILED]


async def test_a_connection_that_goes_while_its_password_is_checked_leaves_nothing(
    node: KafkaNode, rules: LoginRules
) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    await shake_hands(peer)
    peer.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"), 2).cancel()
    peer.disconnect()
    assert node.head.newcomers.count == 0


async def test_a_stop_does_not_wait_for_a_late_answer(node: KafkaNode, rules: LoginRules) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    await shake_hands(peer)
    task = peer.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"), 2)
    await eventually_async(lambda: rules.authenticator.meters.failed == {"PLAIN": 1}, "it fails")
    peer.session.drain()
    assert (await task).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED  # type: ignore[attr-defined]
    assert peer.channel.is_closed


async def test_where_nobody_logs_in_it_is_refused(node: KafkaNode) -> None:
    peer = node.peer()
    assert (await shake_hands(peer)).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert (await authenticate(peer, b"x")).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert await asks_for_metadata(peer)


# --- again, and the end


async def test_a_log_in_that_runs_out_is_repeated_or_closes(node: KafkaNode, rules: LoginRules) -> None:
    access = ListenerAccess(login=replace(rules, max_reauth_ms=60_000))
    peer = node.peer(access=access)
    assert (await plain(peer)).session_lifetime_ms == 60_000
    node.clock.advance(50_000)
    assert (await plain(peer)).session_lifetime_ms == 60_000
    node.clock.advance(50_000)
    assert await asks_for_metadata(peer)
    node.clock.advance(10_000)
    assert not peer.channel.is_closed, "only a request closes it"
    assert (await plain(peer)).error_code == ErrorCode.NONE, "it is not too late"
    assert await asks_for_metadata(peer)
    node.clock.advance(60_000)
    assert not await asks_for_metadata(peer)
    assert "run out" in (peer.channel.closed_because or "")
    assert rules.authenticator.meters.expired == 1


async def test_a_connection_stays_with_its_user_and_mechanism(node: KafkaNode, rules: LoginRules) -> None:
    access = ListenerAccess(login=replace(rules, max_reauth_ms=60_000))
    peer = node.peer(access=access)
    await plain(peer)
    assert (await shake_hands(peer, SCRAM)).error_code == ErrorCode.ILLEGAL_SASL_STATE
    await shake_hands(peer)
    response = await failed(node, peer, f"\0bob\0{PASSWORD}".encode())
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


async def test_a_log_in_that_does_not_run_out_is_not_repeated(node: KafkaNode, rules: LoginRules) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    await plain(peer)
    assert (await shake_hands(peer)).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert (await authenticate(peer, b"x")).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert await asks_for_metadata(peer)


# --- the old form, without requests around the messages


async def test_raw_messages_after_the_first_version_of_the_handshake(
    node: KafkaNode, rules: LoginRules
) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    await shake_hands(peer, SCRAM, version=0)
    client = ScramLogin(SCRAM, "alice", PASSWORD)
    send_raw(peer, client.first())
    await eventually_async(lambda: len(peer.raw_answers) == 1, "the salt")
    send_raw(peer, client.final(peer.raw_answers[0]))
    await eventually_async(lambda: len(peer.raw_answers) == 2, "the broker's proof")
    client.verify(peer.raw_answers[1])
    assert peer.session.principal == ALICE
    assert await asks_for_metadata(peer)


async def test_a_raw_message_that_proves_nothing_closes(node: KafkaNode, rules: LoginRules) -> None:
    peer = node.peer(access=ListenerAccess(login=rules))
    await shake_hands(peer, version=0)
    send_raw(peer, b"\0a\0b")
    await eventually_async(lambda: rules.authenticator.meters.failed == {"PLAIN": 1}, "it fails")
    node.clock.advance(10_000)
    await eventually_async(lambda: peer.channel.is_closed, "the connection closes")
    assert peer.raw_answers == []


def send_raw(peer: Peer, message: bytes) -> None:
    peer.receive(struct.pack(">i", len(message)) + message)


# --- credentials


async def test_credentials_are_told_without_their_keys(node: KafkaNode, rules: LoginRules) -> None:  # noqa: ARG001
    peer = node.peer()
    everybody = await peer.ask(
        DescribeUserScramCredentialsRequest(users=None), DescribeUserScramCredentialsResponse, 0
    )
    assert [(result.user, len(result.credential_infos)) for result in everybody.results] == [
        ("alice", 1),
        ("bob", 1),
    ]
    named = await peer.ask(
        DescribeUserScramCredentialsRequest(
            users=[UserName(name=name) for name in ("alice", "ghost", "bob", "bob")]
        ),
        DescribeUserScramCredentialsResponse,
        0,
    )
    codes = {result.user: result.error_code for result in named.results}
    assert codes == {
        "alice": ErrorCode.NONE,
        "ghost": ErrorCode.RESOURCE_NOT_FOUND,
        "bob": ErrorCode.DUPLICATE_RESOURCE,
    }


async def test_a_user_s_changes_are_made_together_or_not_at_all(node: KafkaNode, rules: LoginRules) -> None:  # noqa: ARG001
    peer = node.peer()
    request = AlterUserScramCredentialsRequest(
        deletions=[
            ScramCredentialDeletion(name="alice", mechanism=1),
            ScramCredentialDeletion(name="ghost", mechanism=1),
        ],
        upsertions=[
            upsertion("alice", "new", "SCRAM-SHA-512"),
            upsertion("weak", "p", iterations=4095),
            upsertion("twice", "p"),
            upsertion("twice", "q"),
            replace_type(upsertion("strange", "p"), 9),
            upsertion("", "p"),
        ],
    )
    response = await peer.ask(request, AlterUserScramCredentialsResponse, 0)
    assert {result.user: result.error_code for result in response.results} == {
        "alice": ErrorCode.NONE,
        "ghost": ErrorCode.RESOURCE_NOT_FOUND,
        "weak": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "twice": ErrorCode.DUPLICATE_RESOURCE,
        "strange": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "": ErrorCode.UNACCEPTABLE_CREDENTIAL,
    }
    users = node.broker.image.users
    assert set(users) == {"alice", "bob"}
    assert set(users["alice"]) == {"SCRAM-SHA-512"}


def replace_type(change: ScramCredentialUpsertion, wire_type: int) -> ScramCredentialUpsertion:
    change.mechanism = wire_type
    return change


async def test_a_user_without_credentials_is_gone_at_once(node: KafkaNode, rules: LoginRules) -> None:
    await node.broker.admin.alter_users({"alice": [CredentialChange(SCRAM, None)]})
    assert "alice" not in node.broker.image.users
    peer = node.peer(access=ListenerAccess(login=rules))
    await shake_hands(peer)
    response = await failed(node, peer, f"\0alice\0{PASSWORD}".encode())
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


async def test_what_is_stored_is_not_the_password(node: KafkaNode, rules: LoginRules) -> None:  # noqa: ARG001
    read = await node.store.range("/mainstem/users/")
    assert [entry.key for entry in read.entries] == ["/mainstem/users/alice", "/mainstem/users/bob"]
    assert all(PASSWORD.encode() not in entry.value for entry in read.entries)
    assert PASSWORD not in repr(node.broker.image)
    assert set(SCRAM_MECHANISMS) == {"SCRAM-SHA-256", "SCRAM-SHA-512"}


# --- whatever strangers send


@pytest.mark.parametrize("seed", range(8))
async def test_no_sequence_of_requests_gets_in_without_a_proof(
    node: KafkaNode, rules: LoginRules, seed: int
) -> None:
    chance = random.Random(seed)
    access = ListenerAccess(login=replace(rules, max_reauth_ms=60_000, most_unfinished=1_000))
    messages = (
        b"",
        b"\0alice\0wrong",
        b"n,,n=alice,r=abc",
        b"c=biws,r=abc,p=AAAA",
        b"\0\0",
        b"\x01",
        b"\xff" * 40,
    )
    for _ in range(40):
        peer = node.peer(access=access)
        for _ in range(chance.randrange(1, 6)):
            if peer.channel.is_closed:
                break
            choice = chance.randrange(5)
            if choice == 0:
                request, version = (
                    SaslHandshakeRequest(mechanism=chance.choice((SCRAM, "PLAIN"))),
                    chance.randrange(2),
                )
                peer.send(request, version).cancel()
            elif choice <= 2:
                message = SaslAuthenticateRequest(auth_bytes=chance.choice(messages))
                peer.send(message, chance.randrange(3)).cancel()
            elif choice == 3:
                send_raw(peer, chance.choice(messages) or b"x")
            else:
                peer.send(ApiVersionsRequest(), 0).cancel()
            await asyncio.sleep(0)
            assert peer.session.principal == ANONYMOUS
        peer.disconnect()
    assert rules.authenticator.meters.succeeded == {}
    assert node.head.meters.unexpected_errors == 0
    assert node.head.newcomers.count == 0
