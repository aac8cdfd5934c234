"""How this client comes in: through TLS or not, with a log-in or not.

    protocol         TLS   log-in
    PLAINTEXT        no    no
    SSL              yes   by certificate, where the broker asks for one
    SASL_PLAINTEXT   no    yes
    SASL_SSL         yes   yes

Who names a user or a token means to log in, and who names an authority or a certificate means TLS: the
protocol follows where it is not said.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from mainstem.client.errors import InvalidSecurity

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER")


@dataclass(frozen=True)
class ClientSecurity:
    protocol: str = "PLAINTEXT"
    mechanism: str = "SCRAM-SHA-512"
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)

    @property
    def has_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_login(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Made once: the broker's certificate and name are always checked."""
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise InvalidSecurity(
                f"the authorities in {self.ca_file} cannot be read: {_reason(error)}"
            ) from error
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.certificate_file is not None:
            try:
                context.load_cert_chain(
                    self.certificate_file, self.key_file, password=lambda: self.key_password or ""
                )
            except (OSError, ssl.SSLError, ValueError) as error:
                raise InvalidSecurity(
                    f"the certificate {self.certificate_file} and its key cannot be used: {_reason(error)}"
                ) from error
        return context


OPEN: Final = ClientSecurity()


def implied_protocol(*, has_login: bool, has_tls: bool) -> str:
    if has_login:
        return "SASL_SSL" if has_tls else "SASL_PLAINTEXT"
    return "SSL" if has_tls else "PLAINTEXT"


def check_security(security: ClientSecurity) -> ClientSecurity:
    """Raises `InvalidSecurity` with what is missing."""
    if security.protocol not in PROTOCOLS:
        raise InvalidSecurity(f"there is no protocol {security.protocol!r}: {', '.join(PROTOCOLS)}")
    if security.has_login:
        if security.mechanism not in MECHANISMS:
            raise InvalidSecurity(f"there is no mechanism {security.mechanism!r}: {', '.join(MECHANISMS)}")
        if security.mechanism == "OAUTHBEARER":
            if not security.token:
                raise InvalidSecurity("OAUTHBEARER needs a token: name a file with it (--token-file)")
        elif not security.user or security.password is None:
            raise InvalidSecurity("a log-in needs a user (--login) and its password (--password-file)")
    elif security.user or security.token:
        raise InvalidSecurity(f"a user logs in with SASL_SSL or SASL_PLAINTEXT, not with {security.protocol}")
    if security.has_tls:
        security.tls  # noqa: B018 - its files are read here, where the error can be told
    return security


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
