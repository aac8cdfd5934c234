"""What a broker needs of the outside before it lets anybody in."""

from __future__ import annotations

import json
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tests.support.simulated_clock import SimulatedClock

from mainstem.admin.application import shows_token
from mainstem.admission import Admission, AdmissionImpossible
from mainstem.config.broker import BrokerConfig
from mainstem.config.source import Layer, Source
from mainstem.core.identity.bearer import TokenChecker


def admission_of(options: dict[str, str]) -> tuple[Admission, BrokerConfig]:
    config = BrokerConfig.from_layers([Layer(Source.STATIC_BROKER, options, "from the test")])
    return Admission(config, SimulatedClock(), dict), config


async def test_mapping_rules_that_cannot_be_read_stop_the_start() -> None:
    admission, config = admission_of(
        {
            "security.protocol": "SSL",
            "ssl.keystore.location": "server.pem",
            "ssl.truststore.location": "ca.pem",
            "ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:half",
        }
    )
    with pytest.raises(AdmissionImpossible, match=r"ssl\.principal\.mapping\.rules"):
        await admission.access_of(config.kafka_listeners[0])


async def test_tokens_need_their_keys_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": file.as_uri(),
    }
    admission, config = admission_of(options)
    with pytest.raises(AdmissionImpossible, match=r"jwks\.endpoint\.url"):
        await admission.access_of(config.kafka_listeners[0])
    key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()).public_key()))
    file.write_text(json.dumps({"keys": [{**key, "kid": "1"}]}))
    admission, config = admission_of(options)
    access = await admission.access_of(config.kafka_listeners[0])
    assert access.login is not None
    assert isinstance(access.login.tokens, TokenChecker)


@pytest.mark.parametrize(
    ("header", "is_shown"),
    [
        ("Bearer a-long-enough-token", True),
        ("bearer a-long-enough-token", True),
        ("", False),
        ("Bearer", False),
        ("Bearer other", False),
        ("Basic a-long-enough-token", False),
        ("Bearer ä", False),
    ],
)
def test_the_admin_interface_s_token(header: str, is_shown: bool) -> None:
    assert shows_token(header, "a-long-enough-token") is is_shown
    assert shows_token(header, None)
