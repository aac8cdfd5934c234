"""Addresses as people write them."""

import pytest

from mainstem.client.addresses import Address, parse_address, parse_addresses
from mainstem.client.errors import InvalidAddress


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:19092", Address("localhost", 19092)),
        (" broker-1 ", Address("broker-1", 9092)),
        ("[::1]:9094", Address("::1", 9094)),
        ("[fe80::1]", Address("fe80::1", 9092)),
        ("::1", Address("::1", 9092)),
    ],
)
def test_an_address_and_its_default_port(text: str, address: Address) -> None:
    assert parse_address(text) == address


def test_several_with_commas() -> None:
    assert parse_addresses("a:1, b:2,") == [Address("a", 1), Address("b", 2)]
    assert str(Address("::1", 5)) == "[::1]:5"


@pytest.mark.parametrize(
    "text", ["", ",", "host:", "host:port", "host:0", "host:65536", "[::1", "a b:1", "http://a:1"]
)
def test_what_is_no_address_is_said_with_the_cure(text: str) -> None:
    with pytest.raises(InvalidAddress, match="write HOST:PORT"):
        parse_addresses(text)
