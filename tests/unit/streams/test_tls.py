"""The files of TLS."""

import ssl
from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.tls import tls_context


def test_without_files_the_systems_authorities_are_asked() -> None:
    context = tls_context(None, None, None)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("nothing")
    with pytest.raises(ConfigurationError, match=r"ca\.pem"):
        tls_context(file, None, None)
