"""The Kafka listeners that a configuration asks for, and whether they may be opened.

Either `listeners` names them, as Kafka does, or there is the one of `listener.kafka`. Each has a name, an
address, an address that its clients are told, a protocol, and options of its own where
`listener.name.NAME.OPTION` sets one. Names are the same in capitals and small letters.

What would let strangers in, or passwords out, is refused here, before anything is bound.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, NoReturn
from urllib.parse import urlsplit

from mainstem.config.errors import ConfigError
from mainstem.config.security_options import PROTOCOLS, SecurityOptions
from mainstem.config.value import HostPort, Value, parse_host_port

if TYPE_CHECKING:
    from mainstem.config.broker import BrokerConfig

SHORTHAND: Final = "kafka"  # the name of the listener of listener.kafka
OVERRIDE_PREFIX: Final = "listener.name."
EVERY_ADDRESS: Final = ("", "0.0.0.0", "::")

_LISTENER: Final = re.compile(r"([A-Za-z0-9_-]{1,64})://(.*)\Z")
_MAPPED: Final = re.compile(r"([A-Za-z0-9_-]{1,64}):([A-Za-z_]+)\Z")
_IN_THE_CLEAR: Final = ("PLAIN", "OAUTHBEARER")  # what these say can be used by whoever hears it
_ALLOW: Final = "allow.unprotected.listeners = true"

Overrides = Mapping[str, Mapping[str, Value]]  # by listener in capitals, then by field


@dataclass(frozen=True, slots=True)
class KafkaListener:
    name: str
    address: HostPort
    protocol: str
    security: SecurityOptions
    advertised: HostPort | None = None

    @property
    def has_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_login(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def advertised_address(self, bound: HostPort) -> HostPort:
        """What clients are told, given the address that the listener really got."""
        if self.advertised is None:
            return HostPort(self.address.host, bound.port)
        return HostPort(self.advertised.host, self.advertised.port or bound.port)


def split_override(name: str) -> tuple[str, str] | None:
    """`listener.name.external.ssl.client.auth` -> EXTERNAL, ssl.client.auth; None for any other name."""
    if not name.startswith(OVERRIDE_PREFIX):
        return None
    listener, _, option = name[len(OVERRIDE_PREFIX) :].partition(".")
    return listener.upper(), option


def kafka_listeners(config: BrokerConfig) -> tuple[KafkaListener, ...]:
    """The first is the node's main address. Raises ConfigError for one that cannot or must not be."""
    found = _named(config) if config.listeners else (_shorthand(config),)
    _check_names(config, found)
    for listener in found:
        _check_address(config, listener)
        _check_tls(config, listener)
        _check_login(config, listener)
        _check_protection(config, listener)
    return found


# --- what is asked for


def _shorthand(config: BrokerConfig) -> KafkaListener:
    for name in ("advertised.listeners", "listener.security.protocol.map"):
        if getattr(config, name.replace(".", "_")):
            _refuse(config, name, "is for the listeners of the option listeners, which is not set", "set it")
    return KafkaListener(
        SHORTHAND,
        config.listener_kafka,
        config.security_protocol,
        _security(config, SHORTHAND),
        config.advertised_kafka,
    )


def _named(config: BrokerConfig) -> tuple[KafkaListener, ...]:
    for name in ("listener.kafka", "advertised.kafka", "security.protocol"):
        if config.is_set(name):
            _refuse(
                config, name, "is for one listener, and listeners says which there are", "keep one of both"
            )
    protocols = dict(_protocol_map(config))
    advertised = dict(_addresses(config, "advertised.listeners", config.advertised_listeners))
    found = []
    for name, address in _addresses(config, "listeners", config.listeners):
        protocol = protocols.pop(name, name if name in PROTOCOLS else None)
        if protocol is None:
            cure = f"say which in listener.security.protocol.map ({name}:SASL_SSL)"
            _refuse(config, "listeners", f"has a listener {name} of which no protocol is known", cure)
        security = _security(config, name)
        found.append(KafkaListener(name, address, protocol, security, advertised.pop(name, None)))
    for stranger in advertised:
        _refuse(
            config, "advertised.listeners", f"names {stranger}, which listeners does not", "name it there"
        )
    return tuple(found)


def _addresses(config: BrokerConfig, option: str, texts: Sequence[str]) -> Iterator[tuple[str, HostPort]]:
    seen: set[str] = set()
    for text in texts:
        match = _LISTENER.match(text)
        if match is None:
            _refuse(config, option, f"has an entry {text!r}", "write NAME://HOST:PORT")
        try:
            address = parse_host_port(match[2])
        except ValueError as error:
            _refuse(config, option, f"has an entry {text!r} whose address {error}", "write NAME://HOST:PORT")
        name = match[1].upper()
        if name in seen:
            _refuse(config, option, f"names {name} twice", "give each listener a name of its own")
        seen.add(name)
        yield name, address


def _protocol_map(config: BrokerConfig) -> Iterator[tuple[str, str]]:
    option = "listener.security.protocol.map"
    for text in config.listener_security_protocol_map:
        match = _MAPPED.match(text)
        if match is None or match[2].upper() not in PROTOCOLS:
            _refuse(
                config,
                option,
                f"has an entry {text!r}",
                f"write NAME:PROTOCOL, one of {', '.join(PROTOCOLS)}",
            )
        yield match[1].upper(), match[2].upper()


def _security(config: BrokerConfig, listener: str) -> SecurityOptions:
    """What is set for this listener alone, over what is set for all."""
    common = {field.name: getattr(config, field.name) for field in fields(SecurityOptions)}
    return SecurityOptions(**{**common, **config.listener_overrides.get(listener.upper(), {})})


# --- whether it may be


def _check_names(config: BrokerConfig, found: Sequence[KafkaListener]) -> None:
    names = {listener.name.upper() for listener in found}
    for stranger in config.listener_overrides.keys() - names:
        cure = f"there are {', '.join(sorted(names))}"
        raise ConfigError(f"{OVERRIDE_PREFIX}{stranger.lower()}", None, "there is no such listener", cure)
    taken: dict[HostPort, str] = {}
    for listener in found:
        if listener.address.port and listener.address in taken:
            problem = f"has the address of listener {taken[listener.address]}"
            _refuse_listener(config, listener, problem, "give each a port of its own")
        taken[listener.address] = listener.name
    admin = config.listener_admin
    if admin is not None and admin.port and admin in taken:
        _refuse(
            config,
            "listener.admin",
            f"is the address of listener {taken[admin]}",
            "give it a port of its own",
        )


def _check_address(config: BrokerConfig, listener: KafkaListener) -> None:
    if listener.advertised is None and listener.address.host in EVERY_ADDRESS:
        cure = (
            "set advertised.kafka (--advertised-kafka HOST:PORT) to the address that clients reach"
            if listener.name == SHORTHAND
            else f"name in advertised.listeners the address that clients reach ({listener.name}://HOST:PORT)"
        )
        problem = "listens on every address, none of which clients could be told"
        _refuse_listener(config, listener, problem, cure)
    if listener.advertised is not None and listener.advertised.host in EVERY_ADDRESS:
        option = "advertised.kafka" if listener.name == SHORTHAND else "advertised.listeners"
        _refuse(config, option, "is not an address to connect to", "name a host that clients can reach")


def _check_tls(config: BrokerConfig, listener: KafkaListener) -> None:
    if not listener.has_tls:
        return
    security = listener.security
    if security.ssl_keystore_location is None:
        cure = "set ssl.keystore.location to a PEM file with the certificate and its key"
        _refuse_listener(config, listener, "speaks TLS without a certificate", cure)
    if security.ssl_client_auth != "none" and security.ssl_truststore_location is None:
        cure = "set ssl.truststore.location to the PEM file of the authorities that sign them"
        _refuse_listener(config, listener, "asks clients for certificates that it could not check", cure)
    if not security.ssl_enabled_protocols:
        _refuse(config, "ssl.enabled.protocols", "names no version of TLS", "legal: TLSv1.2, TLSv1.3")


def _check_login(config: BrokerConfig, listener: KafkaListener) -> None:
    if not listener.has_login:
        return
    security = listener.security
    if not security.sasl_enabled_mechanisms:
        _refuse(config, "sasl.enabled.mechanisms", "offers no way to log in", "name SCRAM-SHA-512")
    if "OAUTHBEARER" in security.sasl_enabled_mechanisms:
        url = security.sasl_oauthbearer_jwks_endpoint_url
        option = "sasl.oauthbearer.jwks.endpoint.url"
        if url is None:
            _refuse(
                config, option, "is needed to check tokens", "name an https or file URL of a JWKS document"
            )
        parts = urlsplit(url)
        is_safe = parts.scheme in ("https", "file") or (
            parts.scheme == "http" and is_loopback(parts.hostname or "")
        )
        if not is_safe:
            _refuse(config, option, "is not a place that can be trusted", "name an https or a file URL")


def _check_protection(config: BrokerConfig, listener: KafkaListener) -> None:
    if is_loopback(listener.address.host) or config.allow_unprotected_listeners:
        return
    if listener.protocol == "PLAINTEXT":
        problem = "would serve anybody who reaches it, without TLS and without a log-in"
        cure = (
            "give it a protocol with either (SASL_SSL has both), listen on 127.0.0.1, or say that this is "
            f"meant: {_ALLOW}"
        )
        _refuse_listener(config, listener, problem, cure)
    if listener.protocol == "SASL_PLAINTEXT":
        heard = [each for each in listener.security.sasl_enabled_mechanisms if each in _IN_THE_CLEAR]
        if heard:
            problem = f"would let everybody on the way hear what {' and '.join(heard)} sends"
            cure = f"give it SASL_SSL, offer SCRAM-SHA-512 only, or say that this is meant: {_ALLOW}"
            _refuse_listener(config, listener, problem, cure)


def check_admin_protection(config: BrokerConfig) -> None:
    address = config.listener_admin
    if address is None or is_loopback(address.host):
        return
    if config.admin_token_file is None and not config.allow_unprotected_listeners:
        problem = "would let anybody who reaches it administer the broker"
        cure = f"set admin.token.file, listen on 127.0.0.1, or say that this is meant: {_ALLOW}"
        _refuse(config, "listener.admin", problem, cure)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _refuse_listener(config: BrokerConfig, listener: KafkaListener, problem: str, cure: str) -> NoReturn:
    if listener.name == SHORTHAND:
        _refuse(config, "listener.kafka", problem, cure)
    origin = config.origin_of("listeners")
    setting = f"{listener.name}://{listener.address}"
    raise ConfigError("listeners", setting, problem, cure, origin)


def _refuse(config: BrokerConfig, name: str, problem: str, cure: str) -> NoReturn:
    raise config.refusal(name, problem, cure)
