"""The subject of a certificate as Java would write it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st
from tests.support.certificates import Authority, name_of

from mainstem.core.identity.distinguished_name import subject_name
from mainstem.core.identity.errors import CertificateNotMapped

Parts = list[tuple[x509.ObjectIdentifier, str]]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def subject_of(authority: Authority, subject: x509.Name) -> str:
    certificate, _ = authority.sign(subject)
    return subject_name(certificate.public_bytes(Encoding.DER))


# What `new X500Principal(...).getName()` says of the same names.
NAMES: list[tuple[Parts, str]] = [
    ([(NameOID.COMMON_NAME, "alice")], "CN=alice"),
    (
        [
            (NameOID.COUNTRY_NAME, "DE"),
            (NameOID.STATE_OR_PROVINCE_NAME, "Berlin"),
            (NameOID.LOCALITY_NAME, "Mitte"),
            (NameOID.ORGANIZATION_NAME, "Acme, Inc."),
            (NameOID.ORGANIZATIONAL_UNIT_NAME, "pay=ments"),
            (NameOID.COMMON_NAME, "Älice"),
        ],
        r"CN=Älice,OU=pay\=ments,O=Acme\, Inc.,L=Mitte,ST=Berlin,C=DE",
    ),
    (
        [(NameOID.EMAIL_ADDRESS, "a@b.c"), (NameOID.COMMON_NAME, "a")],
        "CN=a,1.2.840.113549.1.9.1=#16056140622e63",
    ),
    ([(NameOID.USER_ID, "u1"), (NameOID.DOMAIN_COMPONENT, "example")], "DC=example,UID=u1"),
    ([(NameOID.COMMON_NAME, '#a "b" <c>;\\')], r"CN=\#a \"b\" \<c\>\;\\"),
]


@pytest.mark.parametrize(("parts", "expected"), NAMES)
def test_the_name_is_written_as_rfc_2253(authority: Authority, parts: Parts, expected: str) -> None:
    assert subject_of(authority, name_of(*parts)) == expected


def test_several_attributes_on_one_level(authority: Authority) -> None:
    level = x509.RelativeDistinguishedName(
        [x509.NameAttribute(NameOID.COMMON_NAME, "a"), x509.NameAttribute(NameOID.USER_ID, "b")]
    )
    found = subject_of(authority, x509.Name([level]))
    assert sorted(found.split("+")) == ["CN=a", "UID=b"]


def test_an_empty_name_is_empty(authority: Authority) -> None:
    assert subject_of(authority, x509.Name([])) == ""


@given(st.binary(max_size=300))
def test_what_is_no_certificate_is_refused(data: bytes) -> None:
    with pytest.raises(CertificateNotMapped):
        subject_name(data)


def test_a_certificate_that_is_cut_is_refused(tmp_path: Path) -> None:
    certificate, _ = Authority(tmp_path).sign(name_of((NameOID.COMMON_NAME, "alice")))
    data = certificate.public_bytes(Encoding.DER)
    for end in range(0, len(data), 7):
        with pytest.raises(CertificateNotMapped):
            subject_name(data[:end])
