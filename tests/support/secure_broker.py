"""A broker with a listener of every protocol, every way to log in, and the user alice."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.asymmetric import ec
from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Authority
from tests.support.confluent import create_topic

PASSWORD = "correct-horse-battery"
TOKEN = "an-admin-token-of-some-length"
SECRETS = (PASSWORD, TOKEN, "wrong-password", "secret-of-the-key")


@dataclass
class SecureBroker:
    process: BrokerProcess
    authority: Authority
    key: ec.EllipticCurvePrivateKey
    folder: Path

    def address(self, listener: str) -> str:
        return self.process.listeners[listener]

    def confluent(self, listener: str, **more: Any) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.address(listener),
            "security.protocol": listener if listener in ("SSL", "SASL_PLAINTEXT") else "SASL_SSL",
            "ssl.ca.location": str(self.authority.file),
            "log_level": 0,
            **more,
        }

    def scram(
        self, user: str = "alice", password: str = PASSWORD, mechanism: str = "SCRAM-SHA-512"
    ) -> dict[str, Any]:
        return {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}

    def token(self, user: str = "alice", lifetime_s: float = 300) -> str:
        claims = {
            "sub": user,
            "iat": time.time() - 1,
            "exp": time.time() + lifetime_s,
            "iss": "tests",
            "aud": "mainstem",
            "scope": "kafka",
        }
        return jwt.encode(claims, self.key, "ES256", headers={"kid": "one"})

    def flags(self, listener: str, *more: str) -> list[str]:
        return ["--bootstrap", self.address(listener), "--ca-file", str(self.authority.file), *more]


@contextmanager
def secure_broker(folder: Path) -> Iterator[SecureBroker]:
    """Checks at its end that no secret went where others can read it."""
    authority = Authority(folder)
    key = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
    keys = folder / "keys.json"
    keys.write_text(json.dumps({"keys": [{**public, "kid": "one", "alg": "ES256"}]}))
    (folder / "token").write_text(TOKEN + "\n")
    options = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,SASL_SSL://127.0.0.1:0,"
        "SASL_PLAINTEXT://127.0.0.1:0,SHORT://127.0.0.1:0",
        "listener.security.protocol.map": "SHORT:SASL_SSL",
        "ssl.keystore.location": str(authority.write("server", "localhost", password="secret-of-the-key")),
        "ssl.truststore.location": str(authority.file),
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+),OU=clients$/$1/L",
        "ssl.certificate.check.interval.ms": "100",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN,OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.issuer": "tests",
        "sasl.oauthbearer.expected.audience": "mainstem",
        "admin.token.file": str(folder / "token"),
        "connection.failed.authentication.delay.ms": "10",
        "authorizer.class.name": "standard",
        "super.users": "User:ANONYMOUS;User:alice;User:bob",
        "group.initial.rebalance.delay.ms": "0",
    }
    config = folder / "mainstem.toml"
    config.write_text(
        '[listener.name.sasl_ssl]\nssl.client.auth = "none"\n'
        '[listener.name.short]\nssl.client.auth = "none"\nconnections.max.reauth.ms = 1500\n'
        'sasl.enabled.mechanisms = ["SCRAM-SHA-512"]\n'
    )
    environ = {"MAINSTEM_CONFIG": str(config), "MAINSTEM_SSL_KEY_PASSWORD": "secret-of-the-key"}
    process = BrokerProcess(folder / "data", options, environ).start()
    try:
        admin = AdminClient({"bootstrap.servers": process.bootstrap})
        upsertions = [
            UserScramCredentialUpsertion("alice", ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
        ]
        for done in admin.alter_user_scram_credentials(upsertions).values():
            done.result(30)
        create_topic(admin, "orders")
        yield SecureBroker(process, authority, key, folder)
        assert_no_secret(process)
    finally:
        process.kill()


def assert_no_secret(process: BrokerProcess) -> None:
    """In the log, the metrics, the process list, or what tools are told of the configuration."""
    request = urllib.request.Request(
        f"{process.admin_url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        metrics = answer.read().decode()
    assert "mainstem_logins_total" in metrics
    command_line = Path(f"/proc/{process.pid}/cmdline").read_text()
    for secret in SECRETS:
        assert secret not in process.log_text()
        assert secret not in metrics
        assert secret not in command_line
