"""Who comes in, listener by listener: a part of the composition root.

Makes of the configuration what the head asks: the rules from certificates to users, the mechanisms of a
log-in with what they check against. Reads the keys of tokens before anybody can connect.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec

from mainstem.config.broker import BrokerConfig
from mainstem.config.listeners import KafkaListener
from mainstem.core.identity.authenticator import Authenticator
from mainstem.core.identity.bearer import TokenChecker, TokenRules
from mainstem.core.identity.credentials import UserCredentials
from mainstem.core.identity.errors import InvalidMappingRules, KeysUnavailable
from mainstem.core.identity.key_set import KeySet, KeySetTimes
from mainstem.core.identity.principal_mapping import PrincipalMapping
from mainstem.heads.kafka.access import ListenerAccess, LoginRules
from mainstem.model.errors import BrokerError
from mainstem.ports.clock import Clock
from mainstem.ports.documents import read_document


class AdmissionImpossible(BrokerError):
    """A listener cannot decide who comes in; `cure` says what to do."""

    def __init__(self, problem: str, cure: str) -> None:
        super().__init__(f"{problem}; {cure}")
        self.statement = problem
        self.cure = cure


class Admission:
    def __init__(
        self, config: BrokerConfig, clock: Clock, users: Callable[[], Mapping[str, UserCredentials]]
    ) -> None:
        self.authenticator = Authenticator(
            users, os.urandom, config.connection_failed_authentication_delay_ms
        )
        self._config = config
        self._clock = clock
        self._key_sets: dict[str, KeySet] = {}  # by URL

    async def access_of(self, listener: KafkaListener) -> ListenerAccess:
        if listener.has_login:
            return ListenerAccess(login=await self._login_rules(listener))
        if not listener.has_tls or listener.security.ssl_client_auth == "none":
            return ListenerAccess()
        try:
            return ListenerAccess(PrincipalMapping(listener.security.ssl_principal_mapping_rules))
        except InvalidMappingRules as error:
            problem = f"listener {listener.name}: {error}"
            raise AdmissionImpossible(problem, "correct ssl.principal.mapping.rules") from error

    async def close(self) -> None:
        for keys in self._key_sets.values():
            await keys.close()

    async def _login_rules(self, listener: KafkaListener) -> LoginRules:
        security = listener.security
        takes_tokens = "OAUTHBEARER" in security.sasl_enabled_mechanisms
        return LoginRules(
            authenticator=self.authenticator,
            mechanisms=security.sasl_enabled_mechanisms,
            max_request_bytes=security.sasl_server_max_receive_size,
            timeout_ms=self._config.connection_login_timeout_ms,
            most_unfinished=self._config.max_unfinished_handshakes,
            max_reauth_ms=security.connections_max_reauth_ms,
            tokens=await self._tokens(listener) if takes_tokens else None,
        )

    async def _tokens(self, listener: KafkaListener) -> TokenChecker:
        security = listener.security
        url = security.sasl_oauthbearer_jwks_endpoint_url
        assert url is not None, "the configuration refuses OAUTHBEARER without keys"
        rules = TokenRules(
            security.sasl_oauthbearer_expected_audience,
            security.sasl_oauthbearer_expected_issuer,
            security.sasl_oauthbearer_clock_skew_seconds,
            security.sasl_oauthbearer_sub_claim_name,
        )
        return TokenChecker(await self._keys(listener, url), rules, self._clock)

    async def _keys(self, listener: KafkaListener, url: str) -> KeySet:
        if find_spec("jwt") is None or find_spec("cryptography") is None:
            raise AdmissionImpossible(
                f"listener {listener.name} offers OAUTHBEARER, and the libraries for tokens are missing",
                "install them: pip install 'mainstem[oauth]'",
            )
        keys = self._key_sets.get(url)
        if keys is None:
            security = listener.security
            times = KeySetTimes(
                security.sasl_oauthbearer_jwks_endpoint_refresh_ms,
                security.sasl_oauthbearer_jwks_endpoint_retry_backoff_ms,
                security.sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms,
            )
            keys = self._key_sets[url] = KeySet(url, partial(read_document, url), self._clock, times)
            try:
                await keys.load()
            except KeysUnavailable as error:
                problem = f"listener {listener.name} has no keys to check tokens with: {error}"
                raise AdmissionImpossible(problem, "correct sasl.oauthbearer.jwks.endpoint.url") from error
        return keys
