"""SCRAM's server: against the RFC's own example, our client, and messages that nobody should send."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainstem.client.scram import ScramLogin
from mainstem.core.identity.conversation import Step
from mainstem.core.identity.credentials import (
    SCRAM_MECHANISMS,
    SHA_256,
    SHA_512,
    ScramCredential,
    ScramMechanism,
    UserCredentials,
    check_user_name,
    credential_from_salted,
    new_credential,
    password_matches,
)
from mainstem.core.identity.errors import LoginFailed, UnacceptableCredential
from mainstem.core.identity.principal import Principal
from mainstem.core.identity.scram import ScramConversation, parse_client_first
from mainstem.core.identity.stand_ins import StandIns

SECRET = b"a secret of this broker"
SALT = b"0123456789abcdef01234567"


def stored(mechanism: ScramMechanism, password: str) -> UserCredentials:
    return {mechanism.name: new_credential(mechanism, password, SALT, 4096)}


def server_for(users: dict[str, UserCredentials], mechanism: ScramMechanism = SHA_256) -> ScramConversation:
    return ScramConversation(mechanism, users.get, "server-nonce", StandIns(lambda: users, SECRET))


async def log_in(server: ScramConversation, user: str, password: str, mechanism: str = SHA_256.name) -> Step:
    client = ScramLogin(mechanism, user, password)
    salted = await server.respond(client.first())
    assert salted.principal is None
    done = await server.respond(client.final(salted.answer))
    client.verify(done.answer)
    return done


async def test_the_example_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    users = {"user": {SHA_256.name: new_credential(SHA_256, "pencil", salt, 4096)}}
    stand_ins = StandIns(lambda: users, SECRET)
    server = ScramConversation(SHA_256, users.get, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", stand_ins)
    first = await server.respond(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first.answer == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    final = await server.respond(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert final.answer == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert final.principal == Principal("User", "user")


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS.values(), ids=lambda each: each.name)
async def test_who_knows_the_password_is_let_in(mechanism: ScramMechanism) -> None:
    users = {"a,b=c": stored(mechanism, "pässword")}
    server = server_for(users, mechanism)
    done = await log_in(server, "a,b=c", "pässword", mechanism.name)
    assert done.principal == Principal("User", "a,b=c")
    assert server.user == "a,b=c"
    with pytest.raises(LoginFailed):
        await server.respond(b"n,,n=a,r=b")


async def test_a_wrong_password_and_an_unknown_user_are_told_the_same() -> None:
    users = {"alice": stored(SHA_256, "right")}
    told = []
    for user in ("alice", "nobody"):
        with pytest.raises(LoginFailed) as caught:
            await log_in(server_for(users), user, "wrong")
        told.append(str(caught.value))
    assert told[0] == told[1]


async def test_an_unknown_user_has_a_salt_that_stays() -> None:
    answers = {(await server_for({}).respond(b"n,,n=ghost,r=abc")).answer for _ in range(3)}
    assert len(answers) == 1
    other = (await server_for({}).respond(b"n,,n=other,r=abc")).answer
    assert other not in answers


async def test_a_user_without_a_credential_of_this_mechanism_is_refused() -> None:
    with pytest.raises(LoginFailed):
        await log_in(server_for({"alice": stored(SHA_512, "right")}), "alice", "right")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"n,,n=,r=abc",
        b"n,,n=a,r=",
        b"n,,n=a",
        b"p=tls-unique,,n=a,r=abc",
        b"n,a=other,n=a,r=abc",
        b"n,,n=a,r=abc,tokenauth=true",
        b"n,,m=must,n=a,r=abc",
        b"n,,n=a=b,r=abc",
        b"n,,n=\xff,r=abc",
        b"x,,n=a,r=abc",
        b"n,,n=" + b"a" * 20_000 + b",r=abc",
    ],
)
async def test_a_first_message_that_is_none_ends_the_log_in(message: bytes) -> None:
    server = server_for({"a": stored(SHA_256, "p")})
    with pytest.raises(LoginFailed):
        await server.respond(message)
    with pytest.raises(LoginFailed):
        await server.respond(b"n,,n=a,r=abc")


@pytest.mark.parametrize(
    "final",
    [
        b"",
        b"c=biws,r=abcserver-nonce",
        b"c=biws,r=abc,p=AAAA",
        b"c=biws,r=other,p=AAAA",
        b"c=eSws,r=abcserver-nonce,p=AAAA",
        b"c=biws,r=abcserver-nonce,p=AAAA",
        b"c=biws,r=abcserver-nonce,p=!!!!",
        b"c=biws,r=abcserver-nonce,p=" + base64.b64encode(bytes(32)),
    ],
)
async def test_a_last_message_that_does_not_prove_it_is_refused(final: bytes) -> None:
    server = server_for({"a": stored(SHA_256, "p")})
    await server.respond(b"n,,n=a,r=abc")
    with pytest.raises(LoginFailed):
        await server.respond(final)


async def test_the_stand_in_of_an_unknown_user_opens_to_nobody() -> None:
    """Even to who would know the keys it is made from."""
    server = server_for({})
    await server.respond(b"n,,n=ghost,r=abc")
    fake = StandIns(dict, SECRET).of_mechanism(SHA_256, "ghost")
    assert hashlib.sha256(fake.stored_key).digest() != fake.stored_key
    with pytest.raises(LoginFailed):
        await server.respond(b"c=biws,r=abcserver-nonce,p=" + base64.b64encode(fake.stored_key))


@given(st.text(min_size=1, max_size=30).filter(lambda text: "\0" not in text), st.text(max_size=30))
@settings(max_examples=20, deadline=None)
async def test_any_name_and_password_make_the_round(user: str, password: str) -> None:
    try:
        user.encode(), password.encode()
    except UnicodeEncodeError:
        return
    users = {user: stored(SHA_256, password)}
    assert (await log_in(server_for(users), user, password)).principal == Principal("User", user)


@given(st.binary(max_size=200) | st.text(alphabet="nyp=,ar0m\0", max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(message: bytes) -> None:
    try:
        first = parse_client_first(message)
    except LoginFailed:
        return
    assert first.user
    assert first.nonce
    assert message.decode().startswith(first.header + first.bare)


def test_credentials_that_are_too_weak_are_refused() -> None:
    good = bytes(32)
    credential_from_salted(SHA_256, good, b"salt", 4096)
    for salted, salt, iterations in (
        (good, b"salt", 4095),
        (good, b"salt", 20_000),
        (good, b"", 4096),
        (b"", b"s", 4096),
    ):
        with pytest.raises(UnacceptableCredential):
            credential_from_salted(SHA_256, salted, salt, iterations)
    for name in ("", "a\nb", "x" * 300):
        with pytest.raises(UnacceptableCredential):
            check_user_name(name)


def test_a_password_is_checked_against_its_keys_and_nothing_shows_them() -> None:
    credential = new_credential(SHA_512, "right", SALT)
    assert password_matches(SHA_512, credential, "right")
    assert not password_matches(SHA_512, credential, "wrong")
    assert isinstance(credential, ScramCredential)
    assert repr(credential) == "ScramCredential(iterations=8192)"
