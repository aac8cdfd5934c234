"""Tokens: signatures, times, issuers, and keys that change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st
from tests.support.deadline import eventually_async
from tests.support.simulated_clock import SimulatedClock

from mainstem.core.identity.bearer import TokenChecker, TokenRules, parse_first
from mainstem.core.identity.conversation import Step
from mainstem.core.identity.errors import KeysUnavailable, LoginFailed
from mainstem.core.identity.key_set import KeySet, KeySetTimes, parse_key_set
from mainstem.core.identity.principal import Principal
from mainstem.ports.documents import DocumentUnavailable

RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
OTHER_KEY = rsa.generate_private_key(65537, 2048)
TIMES = KeySetTimes(refresh_ms=60_000, retry_backoff_ms=100, retry_backoff_max_ms=1_000)


def jwk_of(key: Any, key_id: str, **more: str) -> dict[str, Any]:
    algorithm: Any = (
        jwt.algorithms.RSAAlgorithm
        if hasattr(key, "private_numbers") and isinstance(key, rsa.RSAPrivateKey)
        else jwt.algorithms.ECAlgorithm
    )
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": key_id, **more}


def document_of(*keys: Mapping[str, Any]) -> bytes:
    return json.dumps({"keys": keys}).encode()


class World:
    """A checker over keys that a test can change."""

    def __init__(self, rules: TokenRules = TokenRules()) -> None:  # noqa: B008
        self.clock = SimulatedClock()
        self.document: bytes | None = document_of(
            jwk_of(RSA_KEY, "rsa", alg="RS256"), jwk_of(EC_KEY, "ec", alg="ES256")
        )
        self.keys = KeySet("keys", self._fetch, self.clock, TIMES)
        self.checker = TokenChecker(self.keys, rules, self.clock)

    def _fetch(self) -> bytes:
        if self.document is None:
            raise DocumentUnavailable("the issuer is away")
        return self.document

    @property
    def now_s(self) -> int:
        return self.clock.now_ms() // 1000

    def token(
        self, key: Any = RSA_KEY, algorithm: str = "RS256", key_id: str | None = "rsa", **claims: Any
    ) -> str:
        body = {"sub": "alice", "exp": self.now_s + 300, **claims}
        body = {name: value for name, value in body.items() if value is not None}
        return jwt.encode(body, key, algorithm, headers={"kid": key_id} if key_id else None)

    async def say(self, token: str) -> Step:
        return await self.checker.begin().respond(f"n,,\x01auth=Bearer {token}\x01\x01".encode())

    async def refusal(self, token: str) -> str:
        """What the client is told in the end."""
        conversation = self.checker.begin()
        step = await conversation.respond(f"n,,\x01auth=Bearer {token}\x01\x01".encode())
        assert step.principal is None
        assert json.loads(step.answer) == {"status": "invalid_token"}
        with pytest.raises(LoginFailed) as caught:
            await conversation.respond(b"\x01")
        assert token not in str(caught.value)
        return str(caught.value)


async def world_with(rules: TokenRules = TokenRules()) -> World:  # noqa: B008
    world = World(rules)
    await world.keys.load()
    return world


@pytest.mark.parametrize(("key", "algorithm", "key_id"), [(RSA_KEY, "RS256", "rsa"), (EC_KEY, "ES256", "ec")])
async def test_a_good_token_names_the_user_until_it_ends(key: Any, algorithm: str, key_id: str) -> None:
    world = await world_with()
    step = await world.say(world.token(key, algorithm, key_id))
    assert step.principal == Principal("User", "alice")
    assert step.expires_at_ms == (world.now_s + 330) * 1000


CLAIMS: list[tuple[Callable[[World], dict[str, Any]], str]] = [
    (lambda world: {"exp": None}, "exp"),  # noqa: ARG005
    (lambda world: {"exp": world.now_s - 31}, "expired"),
    (lambda world: {"exp": "soon"}, "exp"),  # noqa: ARG005
    (lambda world: {"nbf": world.now_s + 31}, "nbf"),
    (lambda world: {"iat": world.now_s + 31}, "iat"),
    (lambda world: {"sub": None}, "names no user"),  # noqa: ARG005
    (lambda world: {"sub": 7}, "names no user"),  # noqa: ARG005
    (lambda world: {"sub": " "}, "names no user"),  # noqa: ARG005
    (lambda world: {"iss": "elsewhere"}, "issuer"),  # noqa: ARG005
    (lambda world: {"iss": None}, "issuer"),  # noqa: ARG005
    (lambda world: {"aud": "others"}, "audience"),  # noqa: ARG005
    (lambda world: {"aud": None}, "audience"),  # noqa: ARG005
]


@pytest.mark.parametrize(("claims", "words"), CLAIMS)
async def test_claims_that_are_not_as_asked_are_refused(
    claims: Callable[[World], dict[str, Any]], words: str
) -> None:
    world = await world_with(TokenRules(("mainstem", "kafka"), "issuer"))
    good: dict[str, Any] = {"iss": "issuer", "aud": ["kafka", "web"]}
    assert (await world.say(world.token(**good))).principal is not None
    assert words in await world.refusal(world.token(**{**good, **claims(world)}))


async def test_signatures_that_are_not_of_a_known_key_are_refused() -> None:
    world = await world_with()
    forged = world.token(OTHER_KEY)
    unknown = world.token(OTHER_KEY, key_id="new")
    unsigned = jwt.encode({"sub": "alice", "exp": world.now_s + 300}, None, "none", headers={"kid": "rsa"})
    secret = jwt.encode({"sub": "alice", "exp": world.now_s + 300}, "x" * 32, "HS256", headers={"kid": "rsa"})
    other_algorithm = world.token(algorithm="PS256")
    good = world.token()
    tampered = good[:-6] + ("AAAAAA" if not good.endswith("AAAAAA") else "BBBBBB")
    for token in (forged, unknown, unsigned, secret, other_algorithm, tampered, "no.jwt.atall", "x"):
        await world.refusal(token)
    assert (await world.say(good)).principal is not None


async def test_another_claim_may_name_the_user() -> None:
    world = await world_with(TokenRules(user_claim="preferred_username"))
    step = await world.say(world.token(preferred_username="bob"))
    assert step.principal == Principal("User", "bob")


async def test_a_new_key_is_found_and_made_up_ones_do_not_read_all_the_time() -> None:
    world = await world_with()
    world.document = document_of(jwk_of(OTHER_KEY, "new"))
    assert "not known" in await world.refusal(world.token(OTHER_KEY, key_id="new")), (
        "too soon after the start"
    )
    world.clock.advance(1_000)
    assert (await world.say(world.token(OTHER_KEY, key_id="new"))).principal is not None
    for number in range(20):
        await world.refusal(world.token(OTHER_KEY, key_id=f"made-up-{number}"))
    assert world.keys.readings == 2


async def test_an_issuer_that_is_away_leaves_the_keys_and_is_asked_less_and_less() -> None:
    world = await world_with()
    world.document = None
    world.clock.advance(60_000)
    assert (await world.say(world.token())).principal is not None
    await eventually_async(lambda: world.keys.failed_readings == 1, "a reading failed")
    for wait_ms in (100, 200, 400, 800, 1_000, 1_000):
        failed = world.keys.failed_readings
        world.clock.advance(wait_ms - 1)
        await world.say(world.token())
        await asyncio.sleep(0)
        assert world.keys.failed_readings == failed
        world.clock.advance(1)
        assert (await world.say(world.token())).principal is not None
        await eventually_async(lambda failed=failed: world.keys.failed_readings == failed + 1, "the next")  # type: ignore[misc]


async def test_no_keys_at_all_is_an_error_of_the_start() -> None:
    world = World()
    world.document = None
    with pytest.raises(KeysUnavailable, match="away"):
        await world.keys.load()


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys": 1}',
        b'{"keys": []}',
        b'{"keys": [{"kty": "oct", "k": "AAAA"}]}',
        b'{"keys": [{"kty": "RSA"}]}',
    ],
)
def test_documents_without_a_public_key_are_refused(document: bytes) -> None:
    with pytest.raises(KeysUnavailable):
        parse_key_set("keys", document)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic abc\x01\x01",
        b"y,,\x01auth=Bearer a\x01\x01",
        b"n,,\x01auth=Bearer a\x01",
        b"\xff",
    ],
)
def test_first_messages_that_are_none_are_refused(message: bytes) -> None:
    with pytest.raises(LoginFailed):
        parse_first(message)


def test_the_first_message_may_name_who_it_is_for() -> None:
    assert parse_first(b"n,a=alice,\x01auth=Bearer a.b.c\x01traceId=7\x01\x01") == ("alice", "a.b.c")


@given(st.binary(max_size=100))
def test_any_first_message_is_read_or_refused(message: bytes) -> None:
    try:
        _, token = parse_first(message)
    except LoginFailed:
        return
    assert token
