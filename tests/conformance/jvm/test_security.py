"""Kafka's own tools and Java's clients through TLS, by password and by certificate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.x509.oid import NameOID
from tests.support import jvm
from tests.support.kafka_tools import MAIN_CLASSES, KafkaTools, ToolRun
from tests.support.secure_broker import PASSWORD, SecureBroker, secure_broker

pytestmark = pytest.mark.xdist_group("kafka-tools")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with secure_broker(tmp_path_factory.mktemp("secure")) as broker:
        yield broker


def properties(folder: Path, name: str, **options: str) -> str:
    file = folder / f"{name}.properties"
    file.write_text("".join(f"{key.replace('_', '.')}={value}\n" for key, value in options.items()))
    return str(file)


def login(broker: SecureBroker, folder: Path, mechanism: str, password: str, user: str = "alice") -> str:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return properties(
        folder,
        f"{user}-{mechanism}-{password}",
        security_protocol="SASL_SSL",
        ssl_truststore_type="PEM",
        ssl_truststore_location=str(broker.authority.file),
        sasl_mechanism=mechanism,
        sasl_jaas_config=f"org.apache.kafka.common.security.{module} required "
        f'username="{user}" password="{password}";',
    )


def test_java_logs_in(kafka_tools: KafkaTools, broker: SecureBroker, tmp_path: Path) -> None:
    def run(tool: str, listener: str, config: str, *arguments: str, stdin: str = "") -> ToolRun:
        return kafka_tools.run(
            tool,
            "--bootstrap-server",
            broker.address(listener),
            "--command-config",
            config,
            *arguments,
            stdin=stdin,
        )

    # by password; kafka-configs makes another user, whom the broker then knows
    alice = login(broker, tmp_path, "SCRAM-SHA-256", PASSWORD)
    users = ("--entity-type", "users", "--entity-name", "dave")
    credential = "SCRAM-SHA-512=[iterations=8192,password=dave-secret],SCRAM-SHA-256=[password=dave-secret]"
    added = run("kafka-configs", "SASL_SSL", alice, *users, "--alter", "--add-config", credential)
    assert added.exit_code == 0, added.out + added.err
    described = run("kafka-configs", "SASL_SSL", alice, *users, "--describe")
    assert "SCRAM-SHA-512=iterations=8192" in described.out
    assert "dave-secret" not in described.out

    dave = login(broker, tmp_path, "SCRAM-SHA-512", "dave-secret", "dave")
    for config in (dave, login(broker, tmp_path, "PLAIN", PASSWORD)):
        listed = run("kafka-topics", "SASL_SSL", config, "--list")
        assert listed.exit_code == 0, listed.out + listed.err
    assert "orders" not in run("kafka-topics", "SASL_SSL", dave, "--list").out, "dave has no rights"

    wrong = run(
        "kafka-topics", "SASL_SSL", login(broker, tmp_path, "SCRAM-SHA-512", "wrong-password"), "--list"
    )
    assert wrong.exit_code != 0
    assert "invalid credentials with SASL mechanism" in wrong.out

    # records, on a listener whose log-ins run out after a second and a half
    short = login(broker, tmp_path, "SCRAM-SHA-512", PASSWORD)
    written = kafka_tools.run(
        "kafka-producer-perf-test",
        *("--bootstrap-server", broker.address("SHORT"), "--command-config", short),
        *("--topic", "orders", "--num-records", "4000", "--record-size", "1000", "--throughput", "1000"),
    )
    assert written.exit_code == 0, written.out + written.err
    assert "4000 records sent" in written.out
    assert "rror" not in written.err

    # by certificate
    bob = broker.authority.write("bob", "BOB", more=[(NameOID.ORGANIZATIONAL_UNIT_NAME, "clients")])
    shown = properties(
        tmp_path,
        "bob",
        security_protocol="SSL",
        ssl_truststore_type="PEM",
        ssl_truststore_location=str(broker.authority.file),
        ssl_keystore_type="PEM",
        ssl_keystore_location=str(bob),
    )
    read = run(
        *("kafka-console-consumer", "SSL", shown, "--topic", "orders", "--from-beginning"),
        *("--max-messages", "4000", "--timeout-ms", "30000"),
    )
    assert read.exit_code == 0, read.err
    assert "Processed a total of 4000 messages" in read.out + read.err


def test_java_logs_in_with_a_token(broker: SecureBroker, tmp_path: Path) -> None:
    token = tmp_path / "token.jwt"
    config = properties(
        tmp_path,
        "token",
        security_protocol="SASL_SSL",
        ssl_truststore_type="PEM",
        ssl_truststore_location=str(broker.authority.file),
        sasl_mechanism="OAUTHBEARER",
        sasl_login_callback_handler_class="org.apache.kafka.common.security.oauthbearer."
        "OAuthBearerLoginCallbackHandler",
        sasl_oauthbearer_token_endpoint_url=token.as_uri(),
        sasl_jaas_config="org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
    )
    token.write_text(broker.token("alice"))
    done = jvm.java(
        "kafka-server",
        MAIN_CLASSES["kafka-topics"],
        *("--bootstrap-server", broker.address("SASL_SSL"), "--command-config", config, "--list"),
        flags=(*jvm.QUICK_START, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={token.as_uri()}"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "orders" in done.stdout.splitlines()
