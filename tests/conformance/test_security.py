"""Listeners, TLS and log-in with clients of other people, and with `mainstem user` and its flags."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from cryptography.x509.oid import NameOID
from kafka import KafkaAdminClient, KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider
from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Authority
from tests.support.confluent import Reports, produce_all, read_topic
from tests.support.deadline import eventually
from tests.support.kcat import kcat
from tests.support.mainstem_command import MainstemCommand
from tests.support.secure_broker import PASSWORD, SecureBroker, secure_broker

OWN = "PLAINTEXT://127.0.0.1:0"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with secure_broker(tmp_path_factory.mktemp("secure")) as broker:
        yield broker


def works(config: Mapping[str, Any]) -> None:
    """A client with this configuration writes a record and reads it."""
    value = os.urandom(8).hex()
    produce_all(config["bootstrap.servers"], "orders", [value], config)
    assert value in [
        message.value().decode() for message in read_topic(config["bootstrap.servers"], "orders", config)
    ]


def refusal(config: Mapping[str, Any]) -> str:
    """Why a client with this configuration is not let in, as it is told."""
    errors: list[KafkaError] = []
    producer = Producer({**config, "error_cb": errors.append})

    def told() -> bool:
        producer.poll(0.1)
        return any(each.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL) for each in errors)

    eventually(told, "the client is told that it is refused")
    return " ".join(each.str() for each in errors)


# --- listeners


def test_a_client_is_told_the_address_of_its_own_listener(broker: SecureBroker) -> None:
    for listener in ("SASL_SSL", "SASL_PLAINTEXT"):
        admin = AdminClient(broker.confluent(listener, **broker.scram()))
        (node,) = admin.list_topics(timeout=30).brokers.values()
        assert f"{node.host}:{node.port}" == broker.address(listener)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"listeners": "PLAINTEXT://0.0.0.0:0", "advertised.listeners": "PLAINTEXT://127.0.0.1:0"},
            "allow.unprotected.listeners",
        ),
        (
            {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.location": "/nowhere/server.pem"},
            "/nowhere/server.pem",
        ),
        ({"listener.admin": "0.0.0.0:0"}, "admin.token.file"),
    ],
)
def test_a_start_that_would_be_unsafe_is_refused_with_the_cure(
    tmp_path: Path, options: dict[str, str], words: str
) -> None:
    process = BrokerProcess(tmp_path / "data", options)
    with pytest.raises(AssertionError):
        process.start()
    assert words in process.log_text()
    assert "Traceback" not in process.log_text()


# --- log-in


@pytest.mark.parametrize("listener", ["SASL_SSL", "SASL_PLAINTEXT"])
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
def test_confluent_kafka_logs_in(broker: SecureBroker, listener: str, mechanism: str) -> None:
    works(broker.confluent(listener, **broker.scram(mechanism=mechanism)))


@pytest.mark.parametrize("user", ["alice", "nobody"])
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_a_wrong_password_is_refused(broker: SecureBroker, user: str, mechanism: str) -> None:
    told = refusal(broker.confluent("SASL_SSL", **broker.scram(user, "wrong-password", mechanism)))
    assert "uthentication failed" in told


def test_tokens(broker: SecureBroker) -> None:
    def config(token: str, lifetime_s: float = 300) -> dict[str, Any]:
        return broker.confluent(
            "SASL_SSL",
            **{"sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _: (token, time.time() + lifetime_s)},
        )

    works(config(broker.token()))
    told = refusal(config(broker.token(lifetime_s=-60)))
    assert "expired" in told or "invalid_token" in told


def test_a_token_that_ends_ends_the_log_in(broker: SecureBroker) -> None:
    """Over a raw connection, so that the answer can be looked at: clock skew is thirty seconds."""
    client = RawClient(broker, "SASL_SSL")
    client.ask(17, 1, text("OAUTHBEARER"))
    token = broker.token(lifetime_s=60)
    answer = client.ask(36, 1, data(f"n,,\x01auth=Bearer {token}\x01\x01".encode()))
    lifetime_ms = int.from_bytes(answer[-8:], "big")
    assert answer[:2] == b"\0\0"
    assert 60_000 < lifetime_ms <= 90_000


def test_a_log_in_is_repeated_in_time(broker: SecureBroker) -> None:
    """The listener's log-ins are good for a second and a half: the client goes on all the same."""
    producer = Producer(broker.confluent("SHORT", **broker.scram()))
    reports = Reports()
    end = time.monotonic() + 4
    while time.monotonic() < end:
        producer.produce("orders", b"again", on_delivery=reports)
        producer.poll(0.2)
    assert producer.flush(30) == 0
    assert not reports.errors
    assert len(reports.delivered) > 5


def test_who_does_not_log_in_again_is_closed(broker: SecureBroker) -> None:
    client = RawClient(broker, "SHORT")
    client.log_in_plainly("SCRAM-SHA-512")
    assert client.ask(3, 1, b"\0\0\0\0")

    def is_closed() -> bool:
        try:
            client.ask(3, 1, b"\0\0\0\0")
        except (ConnectionError, ssl.SSLError):
            return True
        return False

    eventually(is_closed, "the connection is closed once its log-in has run out", pause_s=0.2)


def test_kafka_python_logs_in(broker: SecureBroker) -> None:
    common = {
        "bootstrap_servers": broker.address("SASL_SSL"),
        "security_protocol": "SASL_SSL",
        "ssl_cafile": str(broker.authority.file),
    }
    for mechanism in ("SCRAM-SHA-256", "PLAIN"):
        admin = KafkaAdminClient(
            **common, sasl_mechanism=mechanism, sasl_plain_username="alice", sasl_plain_password=PASSWORD
        )
        assert "orders" in admin.list_topics()
        admin.close()

    class Tokens(AbstractTokenProvider):
        def token(self) -> str:
            return broker.token()

    producer = KafkaProducer(**common, sasl_mechanism="OAUTHBEARER", sasl_oauth_token_provider=Tokens())
    assert producer.send("orders", b"from kafka-python").get(30).offset >= 0
    producer.close()


async def test_aiokafka_logs_in(broker: SecureBroker) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=broker.address("SASL_SSL"),
        security_protocol="SASL_SSL",
        ssl_context=ssl.create_default_context(cafile=str(broker.authority.file)),
        sasl_mechanism="SCRAM-SHA-512",
        sasl_plain_username="alice",
        sasl_plain_password=PASSWORD,
    )
    await asyncio.wait_for(producer.start(), 30)
    try:
        assert (await producer.send_and_wait("orders", b"from aiokafka")).offset >= 0
    finally:
        await producer.stop()


def test_kcat_logs_in(broker: SecureBroker) -> None:
    words = [
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        "sasl.username=alice",
        f"sasl.password={PASSWORD}",
    ]
    flags = [part for word in words for part in ("-X", word)]
    assert b"orders" in kcat(broker.address("SASL_PLAINTEXT"), "-L", *flags)


# --- TLS


def test_a_certificate_says_who_a_client_is(broker: SecureBroker) -> None:
    def config(file: Path) -> dict[str, Any]:
        return broker.confluent(
            "SSL", **{"ssl.certificate.location": str(file), "ssl.key.location": str(file)}
        )

    unit = [(NameOID.ORGANIZATIONAL_UNIT_NAME, "clients")]
    works(config(broker.authority.write("bob", "BOB", more=unit)))
    stranger = config(broker.authority.write("stranger", "stranger", more=unit))
    admin = AdminClient(stranger)
    deletion = UserScramCredentialDeletion("alice", ScramMechanism.SCRAM_SHA_256)
    deleted = admin.alter_user_scram_credentials([deletion])["alice"]
    with pytest.raises(KafkaException) as caught:
        deleted.result(30)
    assert caught.value.args[0].code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED


def test_certificates_that_are_not_believed_are_refused(broker: SecureBroker) -> None:
    foreign = Authority(broker.folder / "foreign", "Foreign Authority").write("eve", "alice")
    expired = broker.authority.write("expired", "alice", days=-1)
    for file in (foreign, expired, None):
        config = {"ssl.certificate.location": str(file), "ssl.key.location": str(file)} if file else {}
        admin = AdminClient(broker.confluent("SSL", **config))
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=2)
    for reason in ("certificate has expired", "peer did not return a certificate"):
        eventually(lambda reason=reason: reason in broker.process.log_text(), reason)  # type: ignore[misc]


def test_a_changed_certificate_is_shown_to_who_comes_next(broker: SecureBroker) -> None:
    context = ssl.create_default_context(cafile=str(broker.authority.file))

    def serial() -> str:
        host, port = broker.address("SASL_SSL").split(":")
        with (
            socket.create_connection((host, int(port)), 10) as raw,
            context.wrap_socket(raw, server_hostname=host) as tls,
        ):
            return str(tls.getpeercert()["serialNumber"])  # type: ignore[index]

    before = serial()
    consumer = Consumer({**broker.confluent("SASL_SSL", **broker.scram()), "group.id": "stays"})
    assert consumer.list_topics(timeout=30).topics
    broker.authority.write("server", "localhost", password="secret-of-the-key")
    eventually(lambda: serial() != before, "the new certificate is shown")
    assert consumer.list_topics(timeout=30).topics, "connections that are there stay"
    consumer.close()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_either_loop_speaks_tls_and_sighup_reads_certificates_at_once(tmp_path: Path, loop: str) -> None:
    authority = Authority(tmp_path)
    options = {
        "listener.kafka": "127.0.0.1:0",
        "security.protocol": "SSL",
        "ssl.keystore.location": str(authority.write("server", "localhost")),
        "ssl.certificate.check.interval.ms": "3600000",
        "event.loop": loop,
    }
    with BrokerProcess(tmp_path / "data", options) as process:
        config = {
            "bootstrap.servers": process.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(authority.file),
        }
        values = [os.urandom(100_000) for _ in range(60)]
        produce_all(process.bootstrap, "large", values, config)
        assert [message.value() for message in read_topic(process.bootstrap, "large", config)] == values
        authority.write("server", "localhost")
        os.kill(process.pid, signal.SIGHUP)
        eventually(lambda: "has read its certificate anew" in process.log_text(), "it is read")
        AdminClient(config).list_topics(timeout=30)


def test_a_handshake_that_never_ends_holds_nobody_up(broker: SecureBroker) -> None:
    host, port = broker.address("SASL_SSL").split(":")
    silent = [socket.create_connection((host, int(port)), 10) for _ in range(50)]
    try:
        works(broker.confluent("SASL_SSL", **broker.scram()))
    finally:
        for each in silent:
            each.close()


# --- users


def test_users_are_made_and_deleted_with_the_admin_api(broker: SecureBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.process.bootstrap})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 5000)
    admin.alter_user_scram_credentials([UserScramCredentialUpsertion("carol", info, b"pw")])["carol"].result(
        30
    )
    described = admin.describe_user_scram_credentials(["carol"])["carol"].result(30)
    assert [(each.mechanism, each.iterations) for each in described.scram_credential_infos] == [
        (ScramMechanism.SCRAM_SHA_256, 5000)
    ]
    deletion = UserScramCredentialDeletion("carol", ScramMechanism.SCRAM_SHA_256)
    admin.alter_user_scram_credentials([deletion])["carol"].result(30)
    again = admin.alter_user_scram_credentials([deletion])["carol"]
    with pytest.raises(KafkaException) as caught:
        again.result(30)
    assert caught.value.args[0].code() == KafkaError.RESOURCE_NOT_FOUND


def test_mainstem_user_and_the_flags_of_log_in(broker: SecureBroker, tmp_path: Path) -> None:
    mainstem = MainstemCommand(broker.process.bootstrap)
    mainstem.ok("user", "add", "bob", "--new-password-file", "-", stdin="bobs-first\n")
    assert mainstem.run("user", "add", "bob", "--new-password-file", "-", stdin="x\n").code == 2
    (row,) = [row for row in mainstem.ok("user", "list", "--json").document if row["user"] == "bob"]
    assert row["mechanisms"] == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    (tmp_path / "pw").write_text("bobs-second\n")
    mainstem.ok("user", "passwd", "bob", "--new-password-file", tmp_path / "pw")
    assert "8192" in mainstem.ok("user", "describe", "bob").stdout

    login = ["--login", "bob", "--password-file", str(tmp_path / "pw")]
    flags = broker.flags("SASL_SSL", *login)
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"):
        mainstem.ok("topic", "list", *flags, "--sasl-mechanism", mechanism)
    mainstem.ok("produce", "orders", *flags, stdin="through TLS\n" * 3000)
    assert (
        "through TLS" in mainstem.ok("consume", "orders", "--from", "-3000", "--max", "3000", *flags).stdout
    )
    (tmp_path / "token").write_text(broker.token("bob"))
    mainstem.ok("topic", "list", *broker.flags("SASL_SSL", "--token-file", str(tmp_path / "token")))

    (tmp_path / "pw").write_text("wrong-password\n")
    refused = mainstem.run("topic", "list", *flags)
    assert refused.code == 1
    assert "log-in failed" in refused.stderr
    assert (
        "certificate"
        in mainstem.run(
            "topic", "list", "--bootstrap", broker.address("SASL_SSL"), "--security-protocol", "SSL"
        ).stderr
    )
    mainstem.ok("user", "delete", "bob", "--yes")
    assert mainstem.run("user", "describe", "bob").code == 1


def test_the_first_user_is_made_before_the_broker_starts(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    process = BrokerProcess(data_dir, {"listeners": "SASL_PLAINTEXT://127.0.0.1:0"})
    mainstem = MainstemCommand("127.0.0.1:1")
    add = ["user", "add", "root", "--offline", str(data_dir), "--new-password-file", "-"]
    mainstem.ok(*add, stdin="first\n")
    assert mainstem.run(*add, stdin="first\n").code == 1
    with process:
        (tmp_path / "pw").write_text("first")
        flags = ["--bootstrap", process.bootstrap, "--login", "root", "--password-file", str(tmp_path / "pw")]
        assert [row["user"] for row in mainstem.ok("user", "list", "--json", *flags).document] == ["root"]
        assert "a broker runs" in mainstem.run(*add, stdin="first\n").stderr


# --- the admin interface


def test_the_admin_interface_asks_for_its_token(broker: SecureBroker) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{broker.process.admin_url}/metrics", timeout=10)
    assert caught.value.code == 401
    assert caught.value.headers["www-authenticate"] == "Bearer"


def test_secrets_are_not_told_with_the_configuration(broker: SecureBroker) -> None:
    from confluent_kafka.admin import ConfigResource

    admin = AdminClient({"bootstrap.servers": broker.process.bootstrap})
    resource = ConfigResource(ConfigResource.Type.BROKER, "1")
    options = admin.describe_configs([resource])[resource].result(30)
    assert options["ssl.key.password"].is_sensitive
    assert options["ssl.key.password"].value is None
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "secret-of-the-key" not in listed


# --- a client of our own, to see every byte


def text(value: str) -> bytes:
    return len(value).to_bytes(2, "big") + value.encode()


def data(value: bytes) -> bytes:
    return len(value).to_bytes(4, "big") + value


class RawClient:
    def __init__(self, broker: SecureBroker, listener: str) -> None:
        host, port = broker.address(listener).split(":")
        context = ssl.create_default_context(cafile=str(broker.authority.file))
        self._socket = context.wrap_socket(
            socket.create_connection((host, int(port)), 30), server_hostname=host
        )

    def ask(self, key: int, version: int, body: bytes) -> bytes:
        header = key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\7" + text("raw")
        self._socket.sendall(data(header + body))
        size = int.from_bytes(self._take(4), "big")
        return self._take(size)[4:]

    def log_in_plainly(self, mechanism: str) -> None:
        from mainstem.client.scram import ScramLogin

        scram = ScramLogin(mechanism, "alice", PASSWORD)
        assert self.ask(17, 1, text(mechanism))[:2] == b"\0\0"
        first = self.ask(36, 0, data(scram.first()))
        done = self.ask(36, 0, data(scram.final(first[8:])))
        assert done[:2] == b"\0\0", done

    def _take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            piece = self._socket.recv(count - len(taken))
            if not piece:
                raise ConnectionError("closed")
            taken += piece
        return taken
