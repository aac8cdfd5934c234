"""How a job logs in: the `kafka.*` options of Kafka's Java clients, read into our client's words.

Files are PEM, which Kafka's clients know too (`kafka.ssl.truststore.type=PEM`); Java's own key stores are
not read.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from mainstem.client.errors import InvalidSecurity
from mainstem.client.security import MECHANISMS, OPEN, PROTOCOLS, ClientSecurity, check_security
from mainstem.spark.option_reading import OptionReading

SECURITY_OPTIONS: Final = (
    "kafka.security.protocol",
    "kafka.sasl.mechanism",
    "kafka.sasl.jaas.config",
    "kafka.sasl.oauthbearer.token.endpoint.url",
    "kafka.ssl.truststore.location",
    "kafka.ssl.truststore.type",
    "kafka.ssl.keystore.location",
    "kafka.ssl.keystore.type",
    "kafka.ssl.key.password",
)
_PROTOCOL: Final = "kafka.security.protocol"
_MECHANISM: Final = "kafka.sasl.mechanism"
_JAAS: Final = "kafka.sasl.jaas.config"
_TOKEN_URL: Final = "kafka.sasl.oauthbearer.token.endpoint.url"
_TRUST: Final = "kafka.ssl.truststore.location"
_KEYS: Final = "kafka.ssl.keystore.location"
_ENTRY: Final = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))')
_ESCAPED: Final = re.compile(r"\\(.)")


def read_security(reading: OptionReading) -> ClientSecurity:
    protocol = reading.choice(_PROTOCOL, "PLAINTEXT", tuple(name.lower() for name in PROTOCOLS)).upper()
    has_tls, has_login = protocol.endswith("SSL"), protocol.startswith("SASL")
    _refuse_unused(reading, has_tls, has_login, protocol)
    if protocol == "PLAINTEXT":
        return OPEN
    security = ClientSecurity(protocol=protocol)
    if has_login:
        security = _with_login(reading, security)
    if has_tls:
        security = replace(
            security,
            ca_file=_pem_file(reading, _TRUST, "kafka.ssl.truststore.type"),
            certificate_file=_pem_file(reading, _KEYS, "kafka.ssl.keystore.type"),
            key_password=reading.text("kafka.ssl.key.password"),
        )
    try:
        check_security(replace(security))  # a copy: what it opens to look at cannot be sent to tasks
    except InvalidSecurity as error:
        reading.refuse(_PROTOCOL, str(error), "Correct the kafka.ssl.* and kafka.sasl.* options.")
    return security


def _refuse_unused(reading: OptionReading, has_tls: bool, has_login: bool, protocol: str) -> None:
    for prefix, is_used in (("kafka.ssl.", has_tls), ("kafka.sasl.", has_login)):
        for name in () if is_used else reading.names(prefix):
            reading.refuse(
                name,
                f"{_PROTOCOL} is {protocol}, which has no use for it",
                f"Set {_PROTOCOL}, or leave it out.",
            )


def _with_login(reading: OptionReading, security: ClientSecurity) -> ClientSecurity:
    mechanism = reading.choice(_MECHANISM, "", tuple(name.lower() for name in MECHANISMS)).upper()
    if not mechanism:
        reading.refuse(_MECHANISM, "it is missing", f"Say {', '.join(MECHANISMS)}.")
    if mechanism == "OAUTHBEARER":
        return replace(security, mechanism=mechanism, token=_token(reading))
    entries = {
        found[1]: _ESCAPED.sub(r"\1", found[2]) if found[2] is not None else found[3]
        for found in _ENTRY.finditer(reading.text(_JAAS) or "")
    }
    user, password = entries.get("username"), entries.get("password")
    if user is None or password is None:
        module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        reading.refuse(
            _JAAS,
            "it holds no username and password",
            f'Write org.apache.kafka.common.security.{module} required username="…" password="…";',
        )
    return replace(security, mechanism=mechanism, user=user, password=password)


def _token(reading: OptionReading) -> str:
    url = urlsplit(reading.text(_TOKEN_URL) or "")
    if url.scheme != "file":
        reading.refuse(_TOKEN_URL, "tokens are read from files only", "Say file:///path/of/the/token.")
    try:
        return Path(unquote(url.path)).read_text().strip()
    except (OSError, ValueError) as error:
        reading.refuse(_TOKEN_URL, f"it cannot be read: {error}", "Say file:///path/of/the/token.")


def _pem_file(reading: OptionReading, option: str, kind_option: str) -> str | None:
    path = reading.text(option)
    kind = reading.text(kind_option)
    if path is not None and (kind or "JKS").upper() != "PEM":
        reading.refuse(
            kind_option,
            f"{option} names a key store of Java",
            "Convert it to a PEM file, with keytool -exportcert -rfc or openssl pkcs12, and say PEM.",
        )
    return path
