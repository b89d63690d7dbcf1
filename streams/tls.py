"""The files of TLS, for the clients of Kafka and of Redis."""

import ssl
from pathlib import Path

from dehusk.schemas.errors import ConfigurationError


def tls_context(ca: Path | None, certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """A context that checks the server's certificate and name, by the system's authorities without others.

    Raises:
        ConfigurationError: a certificate or key cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=ca)
        if certificate:
            context.load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        named = ", ".join(str(file) for file in (ca, certificate, key) if file)
        raise ConfigurationError(f"cannot read the TLS files {named}: {error}") from error
    return context
