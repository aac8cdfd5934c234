"""The broker's options about listeners, TLS and log-in.

Those of `SecurityOptions` may differ from listener to listener: `listener.name.NAME.OPTION` sets one for the
listener NAME alone (see `listeners.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mainstem.config.option import Scope, declare
from mainstem.config.value import INT_MAX, Kind, Unit

_broker = partial(declare, scope=Scope.BROKER)
_each = partial(declare, scope=Scope.BROKER, is_per_listener=True)
_MS = Unit.MILLISECONDS

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN", "OAUTHBEARER")


@dataclass(frozen=True)
class ListenerOptions:
    """Where clients connect, and what a listener must have before it serves others than this machine."""

    listeners: tuple[str, ...] = _broker(
        "listeners",
        Kind.LIST,
        (),
        "Several addresses for Kafka clients, each NAME://HOST:PORT. A name that is a protocol (PLAINTEXT, "
        "SSL, SASL_PLAINTEXT, SASL_SSL) says how clients talk there; for any other "
        "listener.security.protocol.map does. Empty: the one listener that listener.kafka says.",
    )
    advertised_listeners: tuple[str, ...] = _broker(
        "advertised.listeners",
        Kind.LIST,
        (),
        "The addresses that the clients of each listener are told to connect to, each NAME://HOST:PORT. A "
        "client is told the address of the listener that it came by. A listener that is not named here is "
        "advertised as it listens.",
    )
    listener_security_protocol_map: tuple[str, ...] = _broker(
        "listener.security.protocol.map",
        Kind.LIST,
        (),
        "The protocol of each listener, as NAME:PROTOCOL. Protocols are PLAINTEXT, SSL, SASL_PLAINTEXT and "
        "SASL_SSL; a listener with the name of one need not be named here.",
    )
    security_protocol: str = _broker(
        "security.protocol",
        Kind.STRING,
        "PLAINTEXT",
        "How clients talk to the listener of listener.kafka: in the clear or through TLS (SSL), without or "
        "with a log-in (SASL).",
        choices=PROTOCOLS,
        short_flag="--security-protocol",
    )
    allow_unprotected_listeners: bool = _broker(
        "allow.unprotected.listeners",
        Kind.BOOLEAN,
        False,
        "Whether a listener may serve anybody who reaches it, without TLS and without a log-in, where other "
        "machines can reach it; the same for passwords that would cross a network in the clear, and for "
        "the admin interface without a token. Otherwise the broker refuses to start so.",
    )
    admin_token_file: str | None = _broker(
        "admin.token.file",
        Kind.STRING,
        None,
        "A file with the token that the admin interface asks for (Authorization: Bearer TOKEN), on its first "
        "line. Empty: none is asked for.",
        is_nullable=True,
    )
    connection_login_timeout_ms: int = _broker(
        "connection.login.timeout.ms",
        Kind.INT,
        10_000,
        "How long a connection may take for TLS and for its log-in, each, before it is closed.",
        unit=_MS,
        minimum=100,
    )
    max_unfinished_handshakes: int = _broker(
        "max.unfinished.handshakes",
        Kind.INT,
        1000,
        "How many connections may be in the middle of a TLS handshake, and how many in that of a log-in, "
        "at a time; further ones are closed at once. An address gets one more only while more are free than "
        "it has: one alone gets half of them.",
        minimum=1,
    )
    connection_failed_authentication_delay_ms: int = _broker(
        "connection.failed.authentication.delay.ms",
        Kind.INT,
        100,
        "How long the answer to a failed log-in waits. The time doubles with each further failure from the "
        "same address, up to 10 seconds; a log-in that succeeds takes back what its own user had failed. "
        "0 answers at once.",
        unit=_MS,
        minimum=0,
        maximum=10_000,
    )
    ssl_certificate_check_interval_ms: int = _broker(
        "ssl.certificate.check.interval.ms",
        Kind.INT,
        10_000,
        "How often the files of certificates and keys are looked at; changed ones are used for new "
        "connections from then on. SIGHUP looks at once.",
        unit=_MS,
        minimum=100,
    )


@dataclass(frozen=True)
class SecurityOptions:
    """TLS and log-in of a listener."""

    ssl_keystore_type: str = _each(
        "ssl.keystore.type",
        Kind.STRING,
        "PEM",
        "The form of ssl.keystore.location: PEM is the one that is read.",
        choices=("PEM",),
    )
    ssl_keystore_location: str | None = _each(
        "ssl.keystore.location",
        Kind.STRING,
        None,
        "The PEM file with the server's certificate, the certificates between it and the authority, and, "
        "unless ssl.keystore.key.location names another file, its private key.",
        is_nullable=True,
    )
    ssl_keystore_key_location: str | None = _each(
        "ssl.keystore.key.location",
        Kind.STRING,
        None,
        "The PEM file with the private key, where it is not in ssl.keystore.location.",
        is_nullable=True,
    )
    ssl_key_password: str | None = _each(
        "ssl.key.password",
        Kind.STRING,
        None,
        "The password of the private key. It has no flag, because flags are visible to every user of the "
        "machine: set it in the file or in the environment.",
        is_nullable=True,
        is_sensitive=True,
    )
    ssl_truststore_type: str = _each(
        "ssl.truststore.type",
        Kind.STRING,
        "PEM",
        "The form of ssl.truststore.location: PEM is the one that is read.",
        choices=("PEM",),
    )
    ssl_truststore_location: str | None = _each(
        "ssl.truststore.location",
        Kind.STRING,
        None,
        "The PEM file with the certificates of the authorities whose clients are believed.",
        is_nullable=True,
    )
    ssl_client_auth: str = _each(
        "ssl.client.auth",
        Kind.STRING,
        "none",
        "Whether clients show a certificate of their own: they need not (none), may (requested), or must "
        "(required).",
        choices=("none", "requested", "required"),
    )
    ssl_enabled_protocols: tuple[str, ...] = _each(
        "ssl.enabled.protocols",
        Kind.LIST,
        ("TLSv1.2", "TLSv1.3"),
        "The versions of TLS that are spoken.",
        choices=("TLSv1.2", "TLSv1.3"),
    )
    ssl_principal_mapping_rules: str = _each(
        "ssl.principal.mapping.rules",
        Kind.STRING,
        "DEFAULT",
        "How the distinguished name of a client's certificate becomes a user's name: rules separated by "
        "commas, the first that matches wins. RULE:pattern/replacement/ with an L or U after it for lower or "
        "upper case, or DEFAULT for the whole name.",
    )
    sasl_enabled_mechanisms: tuple[str, ...] = _each(
        "sasl.enabled.mechanisms",
        Kind.LIST,
        ("SCRAM-SHA-512", "SCRAM-SHA-256"),
        "The ways to log in where a listener asks for it (Kafka's default is GSSAPI, which is not served).",
        choices=MECHANISMS,
    )
    sasl_server_max_receive_size: int = _each(
        "sasl.server.max.receive.size",
        Kind.INT,
        524_288,
        "The largest request of a connection that has not logged in.",
        unit=Unit.BYTES,
        minimum=1024,
        maximum=INT_MAX,
    )
    connections_max_reauth_ms: int = _each(
        "connections.max.reauth.ms",
        Kind.LONG,
        0,
        "How long a log-in is good for. A client that has not logged in again by then is disconnected at its "
        "next request; 0 means for as long as the connection lasts, or a token says.",
        unit=_MS,
        minimum=0,
    )
    sasl_oauthbearer_jwks_endpoint_url: str | None = _each(
        "sasl.oauthbearer.jwks.endpoint.url",
        Kind.STRING,
        None,
        "Where the keys are that tokens are signed with: an https or a file URL of a JWKS document.",
        is_nullable=True,
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = _each(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        Kind.LONG,
        3_600_000,
        "How often the keys are read anew. A token with a key that is not known has them read sooner.",
        unit=_MS,
        minimum=1000,
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = _each(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        Kind.LONG,
        100,
        "The shortest time between two readings of the keys after one that failed; it doubles with each.",
        unit=_MS,
        minimum=1,
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = _each(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        Kind.LONG,
        10_000,
        "The longest time between two readings of the keys after failures, and the shortest between two for "
        "tokens with unknown keys.",
        unit=_MS,
        minimum=1,
    )
    sasl_oauthbearer_expected_audience: tuple[str, ...] = _each(
        "sasl.oauthbearer.expected.audience",
        Kind.LIST,
        (),
        "The audiences of which a token must name one. Empty: any will do.",
    )
    sasl_oauthbearer_expected_issuer: str | None = _each(
        "sasl.oauthbearer.expected.issuer",
        Kind.STRING,
        None,
        "The issuer that a token must name. Empty: any will do.",
        is_nullable=True,
    )
    sasl_oauthbearer_clock_skew_seconds: int = _each(
        "sasl.oauthbearer.clock.skew.seconds",
        Kind.INT,
        30,
        "By how much the clocks of the issuer and of this broker may differ.",
        unit=Unit.SECONDS,
        minimum=0,
    )
    sasl_oauthbearer_sub_claim_name: str = _each(
        "sasl.oauthbearer.sub.claim.name",
        Kind.STRING,
        "sub",
        "The claim of a token that names the user.",
    )
