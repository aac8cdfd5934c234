"""Options of Kafka's Java clients for logging in: read, or refused without showing a secret."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from mainstem.client.security import OPEN, ClientSecurity
from mainstem.spark.errors import InvalidOption
from mainstem.spark.option_reading import OptionReading
from mainstem.spark.security import read_security

SCRAM = (
    'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="p\\"w\\\\;";'
)
LOGIN = {
    "kafka.security.protocol": "SASL_PLAINTEXT",
    "kafka.sasl.mechanism": "SCRAM-SHA-256",
    "kafka.sasl.jaas.config": SCRAM,
}


def read(**given: str) -> ClientSecurity:
    return read_security(OptionReading(given))


def test_open_where_nothing_is_said() -> None:
    assert read() == OPEN
    assert read(**{"kafka.security.protocol": "plaintext"}) == OPEN


def test_a_user_and_a_password() -> None:
    found = read(**LOGIN)
    assert found == ClientSecurity(
        protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-256", user="alice", password='p"w\\;'
    )
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_token_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a token").write_text("abc.def.ghi\n")
    url = (tmp_path / "a token").as_uri()
    given = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.oauthbearer.token.endpoint.url": url,
    }
    assert read(**given).token == "abc.def.ghi"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kafka.security.protocol": "TLS"}, ["kafka.security.protocol", "'TLS'", "sasl_ssl"]),
        ({**LOGIN, "kafka.sasl.mechanism": ""}, ["kafka.sasl.mechanism", "missing", "SCRAM-SHA-512"]),
        ({**LOGIN, "kafka.sasl.mechanism": "GSSAPI"}, ["kafka.sasl.mechanism", "'GSSAPI'", "plain"]),
        (
            {**LOGIN, "kafka.sasl.jaas.config": "x required password=verysecret;"},
            ["no username", "required username="],
        ),
        ({"kafka.sasl.jaas.config": "verysecret"}, ["kafka.security.protocol is PLAINTEXT"]),
        ({"kafka.security.protocol": "SSL", **{k: v for k, v in LOGIN.items() if "jaas" in k}}, ["is SSL"]),
        (
            {"kafka.security.protocol": "SSL", "kafka.ssl.truststore.location": "/x/trust.jks"},
            ["kafka.ssl.truststore.type", "key store of Java", "PEM"],
        ),
        (
            {
                "kafka.security.protocol": "SSL",
                "kafka.ssl.truststore.type": "PEM",
                "kafka.ssl.truststore.location": "/not/there.pem",
            },
            ["/not/there.pem", "cannot be read"],
        ),
    ],
)
def test_what_is_wrong_names_option_and_cure_and_no_secret(given: dict[str, str], words: list[str]) -> None:
    with pytest.raises(InvalidOption) as caught:
        read(**given)
    for word in words:
        assert word in str(caught.value)
    assert "verysecret" not in str(caught.value)
