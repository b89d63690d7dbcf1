"""The files of TLS."""

import ssl
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.tls import server_context, tls_context
from tests.authority import Authority


def test_without_files_the_systems_authorities_are_asked() -> None:
    context = tls_context(None, None, None)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("nothing")
    with pytest.raises(ConfigurationError, match=r"ca\.pem"):
        tls_context(file, None, None)


def test_a_server_speaks_tls_1_2_or_newer(tmp_path: Path) -> None:
    context = server_context(*Authority(tmp_path).certify("server", "127.0.0.1"))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_files_of_a_server_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.certify("server", "127.0.0.1")
    _, other = authority.certify("other", "127.0.0.1")
    nothing, text = tmp_path / "nothing.pem", tmp_path / "text.pem"
    text.write_text("text")
    for files, message in {
        (certificate, other): rf"{other} is not the key of the certificate {certificate}",
        (certificate, nothing): rf"cannot read the TLS file {nothing}: No such file",
        (tmp_path, key): rf"cannot read the TLS file {tmp_path}: Is a directory",
        (text, key): rf"{text} and {key} are no certificate and its key",
        (certificate, text): rf"{certificate} and {text} are no certificate and its key",
    }.items():
        with pytest.raises(ConfigurationError, match=message):
            server_context(*files)


def test_nobody_is_asked_for_the_password_of_a_key(tmp_path: Path) -> None:
    certificate, key = Authority(tmp_path).certify("server", "127.0.0.1")
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    for create in (server_context, partial(tls_context, None)):
        with pytest.raises(ConfigurationError, match=f"{key} is encrypted"):
            create(certificate, key)
