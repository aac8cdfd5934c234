"""Certificates that tests make for themselves: an authority, and what it signs."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


def name_of(*parts: tuple[x509.ObjectIdentifier, str]) -> x509.Name:
    """The most general part first, as in a certificate."""
    return x509.Name([x509.NameAttribute(kind, value) for kind, value in parts])


class Authority:
    """Signs certificates; `file` is its own, for those who are to believe it."""

    def __init__(self, folder: Path, name: str = "Test Authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = name_of((NameOID.COMMON_NAME, name))
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + 30 * _DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .add_extension(_SIGNS, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = folder / f"{name.replace(' ', '-')}.pem"
        self.file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def sign(
        self, subject: x509.Name, days: float = 10
    ) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        """For localhost and 127.0.0.1, whoever it is; with negative `days` it has ended already."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        hosts = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 20 * _DAY)
            .not_valid_after(now + days * _DAY)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        return certificate, key

    def write(
        self,
        file_name: str,
        common_name: str | None = None,
        *,
        more: Sequence[tuple[x509.ObjectIdentifier, str]] = (),
        password: str | None = None,
        days: float = 10,
    ) -> Path:
        """A PEM file with a certificate and its key; over the one that is there, in one step."""
        subject = name_of(*more, (NameOID.COMMON_NAME, common_name or file_name))
        certificate, key = self.sign(subject, days)
        encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        path = self.folder / f"{file_name}.pem"
        draft = path.with_suffix(".draft")
        draft.write_bytes(
            certificate.public_bytes(Encoding.PEM)
            + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
        )
        draft.rename(path)
        return path


_SIGNS = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)
