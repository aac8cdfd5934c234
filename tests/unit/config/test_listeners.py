"""Which listeners a configuration means, and which it may not have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mainstem.config.broker import BrokerConfig
from mainstem.config.errors import ConfigError
from mainstem.config.listeners import KafkaListener
from mainstem.config.load import load_broker_config
from mainstem.config.source import Layer, Source
from mainstem.config.value import HostPort

TLS = {"ssl.keystore.location": "/certificates/server.pem"}


def config_of(options: Mapping[str, str]) -> BrokerConfig:
    return BrokerConfig.from_layers([Layer(Source.STATIC_BROKER, options, "from the test")])


def listeners_of(options: Mapping[str, str]) -> dict[str, KafkaListener]:
    return {listener.name: listener for listener in config_of(options).kafka_listeners}


def test_without_a_word_there_is_one_on_loopback() -> None:
    (listener,) = BrokerConfig.default().kafka_listeners
    assert (listener.name, listener.address) == ("kafka", HostPort("127.0.0.1", 9092))
    assert (listener.protocol, listener.has_tls, listener.has_login) == ("PLAINTEXT", False, False)


def test_the_short_form_may_have_tls_and_log_in() -> None:
    options = {"listener.kafka": "10.0.0.1:9092", "security.protocol": "SASL_SSL", **TLS}
    listener = listeners_of(options)["kafka"]
    assert listener.has_tls
    assert listener.has_login
    assert listener.security.ssl_keystore_location == "/certificates/server.pem"


def test_several_with_addresses_of_their_own() -> None:
    found = listeners_of(
        {
            "listeners": "PLAINTEXT://127.0.0.1:9092,external://0.0.0.0:9093",
            "advertised.listeners": "EXTERNAL://broker.example:19093",
            "listener.security.protocol.map": "external:SASL_SSL",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.external.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            **TLS,
        }
    )
    assert list(found) == ["PLAINTEXT", "EXTERNAL"]
    external = found["EXTERNAL"]
    assert external.protocol == "SASL_SSL"
    assert external.advertised_address(HostPort("0.0.0.0", 9093)) == HostPort("broker.example", 19093)
    assert external.security.sasl_enabled_mechanisms == ("PLAIN", "SCRAM-SHA-256")
    assert found["PLAINTEXT"].security.sasl_enabled_mechanisms == ("SCRAM-SHA-512",)


def test_the_file_reads_as_people_write_it(tmp_path: Path) -> None:
    file = tmp_path / "mainstem.toml"
    file.write_text(
        """
        listeners = ["PLAINTEXT://127.0.0.1:9092", "SASL_SSL://127.0.0.1:9093"]
        allow.unprotected.listeners = false

        [ssl]
        keystore.location = "/certificates/server.pem"
        key.password = "hunter2"

        [sasl]
        enabled.mechanisms = ["SCRAM-SHA-512", "PLAIN"]

        [listener.name.sasl_ssl]
        ssl.client.auth = "requested"
        ssl.truststore.location = "/certificates/clients.pem"
        """
    )
    config = load_broker_config(file=file)
    plain, safe = config.kafka_listeners
    assert (plain.security.ssl_client_auth, safe.security.ssl_client_auth) == ("none", "requested")
    assert safe.security.ssl_key_password == "hunter2"
    assert "hunter2" not in repr(config)
    assert "hunter2" not in repr(safe)


@pytest.mark.parametrize(
    ("options", "option", "words"),
    [
        ({"listeners": "one"}, "listeners", "NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://127.0.0.1:99999"}, "listeners", "65535"),
        ({"listeners": "inside://127.0.0.1:1"}, "listeners", "listener.security.protocol.map"),
        ({"listeners": "SSL://127.0.0.1:1,ssl://127.0.0.1:2"}, "listeners", "twice"),
        ({"listeners": "PLAINTEXT://127.0.0.1:1", "listener.kafka": "127.0.0.1:2"}, "listener.kafka", "both"),
        ({"listeners": "SSL://127.0.0.1:1"}, "listeners", "ssl.keystore.location"),
        (
            {
                "listeners": "PLAINTEXT://127.0.0.1:1,A://127.0.0.1:1",
                "listener.security.protocol.map": "A:PLAINTEXT",
            },
            "listeners",
            "port of its own",
        ),
        (
            {"listeners": "PLAINTEXT://127.0.0.1:1", "listener.security.protocol.map": "A:TLS"},
            "listener.security.protocol.map",
            "SASL_SSL",
        ),
        (
            {"listeners": "PLAINTEXT://127.0.0.1:1", "advertised.listeners": "B://b:1"},
            "advertised.listeners",
            "names B",
        ),
        ({"advertised.listeners": "B://b:1"}, "advertised.listeners", "listeners"),
        ({"listener.name.other.ssl.client.auth": "none"}, "listener.name.other", "KAFKA"),
        ({"listener.name.kafka.node.id": "4"}, "listener.name.kafka.node.id", "for all listeners"),
        (
            {"listener.name.kafka.ssl.client.aut": "4"},
            "listener.name.kafka.ssl.client.aut",
            "ssl.client.auth",
        ),
        (
            {"security.protocol": "SSL", "ssl.client.auth": "required", **TLS},
            "listener.kafka",
            "ssl.truststore.location",
        ),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.enabled.mechanisms": "OAUTHBEARER"},
            "sasl.oauthbearer.jwks.endpoint.url",
            "JWKS",
        ),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                "sasl.oauthbearer.jwks.endpoint.url": "http://keys.example/jwks",
            },
            "sasl.oauthbearer.jwks.endpoint.url",
            "https",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_cure(options: dict[str, str], option: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_of(options)
    assert caught.value.option == option
    assert words in str(caught.value)


UNPROTECTED = [
    ({"listener.kafka": "192.0.2.7:9092"}, "listener.kafka"),
    ({"listener.kafka": "broker.example:9092"}, "listener.kafka"),
    ({"listeners": "PLAINTEXT://192.0.2.7:9092"}, "listeners"),
    (
        {
            "listener.kafka": "192.0.2.7:9092",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        },
        "listener.kafka",
    ),
    ({"listener.admin": "192.0.2.7:9640"}, "listener.admin"),
]


@pytest.mark.parametrize(("options", "option"), UNPROTECTED)
def test_strangers_are_let_in_only_where_that_is_said(options: dict[str, str], option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_of(options)
    assert caught.value.option == option
    assert "allow.unprotected.listeners" in caught.value.cure
    config_of({**options, "allow.unprotected.listeners": "true"})


@pytest.mark.parametrize(
    "options",
    [
        {"listener.kafka": "192.0.2.7:9092", "security.protocol": "SSL", **TLS},
        {"listener.kafka": "192.0.2.7:9092", "security.protocol": "SASL_PLAINTEXT"},
        {"listener.kafka": "[::1]:9092"},
        {"listener.kafka": "localhost:9092"},
        {"listener.admin": "192.0.2.7:9640", "admin.token.file": "/run/token"},
    ],
)
def test_what_is_protected_or_near_may_be(options: dict[str, str]) -> None:
    assert config_of(options).kafka_listeners


def test_a_mistyped_secret_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        config_of({"ssl.key.pasword": "hunter2"})
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        load_broker_config(environ={"MAINSTEM_SSL_KEY_PASWORD": "hunter2"})
    assert "hunter2" not in str(caught.value)


def test_a_secret_has_no_flag() -> None:
    from mainstem.config.broker_options import BROKER_OPTIONS

    option = BROKER_OPTIONS["ssl.key.password"]
    assert option.flag is None
    config = load_broker_config(environ={"MAINSTEM_SSL_KEY_PASSWORD": "hunter2"})
    assert config.ssl_key_password == "hunter2"


def test_variables_of_clients_are_left_alone() -> None:
    load_broker_config(environ={"MAINSTEM_BOOTSTRAP": "a:1", "MAINSTEM_CLIENT_USER": "alice"})
