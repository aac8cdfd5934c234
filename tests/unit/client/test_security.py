"""What is said about TLS and log-in: what follows from it, what is missing, and that secrets do not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from mainstem.cli.broker_link import chosen_security, secret_in
from mainstem.client.errors import InvalidSecurity, LoginRefused
from mainstem.client.scram import ScramLogin
from mainstem.client.security import ClientSecurity, check_security

SECRET = {"MAINSTEM_CLIENT_PASSWORD": "hunter2"}


def test_without_a_word_there_is_neither_tls_nor_log_in() -> None:
    security = chosen_security({}, {})
    assert (security.protocol, security.has_tls, security.has_login) == ("PLAINTEXT", False, False)


@pytest.mark.parametrize(
    ("chosen", "protocol", "mechanism"),
    [
        ({"login": "a"}, "SASL_PLAINTEXT", "SCRAM-SHA-512"),
        ({"login": "a", "security_protocol": "sasl_ssl"}, "SASL_SSL", "SCRAM-SHA-512"),
        ({"login": "a", "sasl_mechanism": "plain"}, "SASL_PLAINTEXT", "PLAIN"),
        ({"security_protocol": "SSL"}, "SSL", "SCRAM-SHA-512"),
    ],
)
def test_the_protocol_follows_from_what_is_said(
    chosen: dict[str, str], protocol: str, mechanism: str
) -> None:
    security = chosen_security(chosen, SECRET)
    assert (security.protocol, security.mechanism) == (protocol, mechanism)
    assert security.password == ("hunter2" if "login" in chosen else None)
    assert "hunter2" not in repr(security)


def test_a_token_is_a_log_in_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a.b.c\n")
    security = chosen_security({"token_file": str(tmp_path / "token")}, {})
    assert (security.mechanism, security.token, security.user) == ("OAUTHBEARER", "a.b.c", None)
    assert "a.b.c" not in repr(security)


@pytest.mark.parametrize(
    ("security", "words"),
    [
        (ClientSecurity(protocol="TLS"), "SASL_SSL"),
        (ClientSecurity(protocol="SASL_SSL", mechanism="GSSAPI"), "SCRAM-SHA-512"),
        (ClientSecurity(protocol="SASL_SSL", user="a"), "--password-file"),
        (ClientSecurity(protocol="SASL_SSL", mechanism="OAUTHBEARER"), "--token-file"),
        (ClientSecurity(protocol="SSL", user="a", password="b"), "SASL_SSL"),
        (ClientSecurity(protocol="SSL", ca_file="/nowhere.pem"), "/nowhere.pem"),
        (ClientSecurity(protocol="SSL", certificate_file="/nowhere.pem"), "/nowhere.pem"),
    ],
)
def test_what_does_not_go_together_is_told(security: ClientSecurity, words: str) -> None:
    with pytest.raises(InvalidSecurity, match=words):
        check_security(security)


def test_a_secret_is_the_first_line_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "pw"
    file.write_text(" with spaces \r\nnot this\n")
    assert secret_in(str(file)) == " with spaces "
    for content in (b"", b"\n", b"\xff\n"):
        file.write_bytes(content)
        with pytest.raises(InvalidSecurity):
            secret_in(str(file))
    with pytest.raises(InvalidSecurity, match="No such file"):
        secret_in(str(tmp_path / "none"))


@pytest.mark.parametrize(
    "server_first",
    [
        b"",
        b"r=other,s=c2FsdA==,i=4096",
        b"r=mine,s=c2FsdA==,i=4096",
        b"r=mine-more,s=c2FsdA==,i=0",
        b"r=mine-more,s=c2FsdA==,i=99999999",
        b"r=mine-more,s=!,i=4096",
    ],
)
def test_a_broker_that_does_not_speak_scram_is_left(server_first: bytes) -> None:
    with pytest.raises(LoginRefused):
        ScramLogin("SCRAM-SHA-256", "a", "b", nonce="mine").final(server_first)


def test_a_broker_must_prove_that_it_knows_the_user() -> None:
    login = ScramLogin("SCRAM-SHA-256", "a", "b", nonce="mine")
    login.final(b"r=mine-more,s=c2FsdA==,i=4096")
    for proof in (b"", b"v=", b"v=AAAA", b"e=other"):
        with pytest.raises(LoginRefused):
            login.verify(proof)
