"""What a TLS listener shows: read, refused with the cure, read again when it changes."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from tests.support.certificates import Authority

from mainstem.server.certificates import Certificates, CertificateUnusable, TlsFiles


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def files_of(path: Path, **more: object) -> TlsFiles:
    return TlsFiles(str(path), str(path), None, **more)  # type: ignore[arg-type]


def shown_by(certificates: Certificates, authority: Authority) -> str:
    """The name in the certificate that a client gets to see, through two buffers instead of a socket."""
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = certificates.context.wrap_bio(inward, outward, server_side=True)
    trusting = ssl.create_default_context(cafile=str(authority.file))
    client = trusting.wrap_bio(outward, inward, server_hostname="localhost")
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    subject = dict(pair for level in client.getpeercert()["subject"] for pair in level)  # type: ignore[index,misc]
    return str(subject["commonName"])


def test_a_changed_file_is_shown_from_then_on(authority: Authority) -> None:
    certificates = Certificates("SSL", files_of(authority.write("server", "first")))
    assert shown_by(certificates, authority) == "first"
    assert not certificates.reload()
    authority.write("server", "second")
    assert certificates.reload()
    assert shown_by(certificates, authority) == "second"
    assert certificates.expires_at_s is not None


def test_what_cannot_be_used_leaves_the_old_one_in_force(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    path = authority.write("server", "first")
    certificates = Certificates("SSL", files_of(path))
    path.write_text("half a certificate")
    assert not certificates.reload()
    assert not certificates.reload()
    assert shown_by(certificates, authority) == "first"
    assert len([line for line in caplog.messages if "keeps its present certificate" in line]) == 1
    authority.write("server", "second")
    assert certificates.reload()
    assert shown_by(certificates, authority) == "second"


def test_an_encrypted_key_needs_its_password(authority: Authority) -> None:
    path = authority.write("server", "sealed", password="hunter2")
    assert shown_by(Certificates("SSL", files_of(path, password="hunter2")), authority) == "sealed"
    for wrong in (None, "wrong"):
        with pytest.raises(CertificateUnusable) as caught:
            Certificates("SSL", files_of(path, password=wrong))
        assert "ssl.key.password" in str(caught.value)
    assert "hunter2" not in repr(files_of(path, password="hunter2"))


def test_a_key_of_another_certificate_is_refused(authority: Authority) -> None:
    one, other = authority.write("one"), authority.write("other")
    with pytest.raises(CertificateUnusable, match="not that of the certificate"):
        Certificates("SSL", TlsFiles(str(one), str(other), None))


@pytest.mark.parametrize(
    "content", [None, "", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_files_that_hold_nothing_useful_are_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "server.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CertificateUnusable) as caught:
        Certificates("SSL", files_of(path))
    assert str(path) in str(caught.value)
    assert caught.value.cure


def test_authorities_that_cannot_be_read_are_named(authority: Authority, tmp_path: Path) -> None:
    path = authority.write("server")
    trusted = tmp_path / "trusted.pem"
    trusted.write_text("nothing")
    with pytest.raises(CertificateUnusable, match="truststore"):
        Certificates("SSL", TlsFiles(str(path), str(path), str(trusted), None, "required"))


def test_old_versions_of_tls_are_not_spoken(authority: Authority) -> None:
    certificates = Certificates("SSL", files_of(authority.write("server")))
    assert certificates.context.minimum_version == ssl.TLSVersion.TLSv1_2
    only = Certificates("SSL", files_of(authority.write("server"), versions=("TLSv1.3",)))
    assert only.context.minimum_version == ssl.TLSVersion.TLSv1_3
