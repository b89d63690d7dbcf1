"""TLS: certificates and keys of clients and of the monitoring pages, and the faults of web servers."""

import ssl
from pathlib import Path
from urllib.error import URLError

from dehusk.schemas.errors import ConfigurationError


def tls_context(ca: Path | None, certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """Create a context that checks the server's certificate and name, by default by the system's authorities.

    Raises:
        ConfigurationError: a certificate or key cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=ca)
        if certificate:
            context.load_cert_chain(certificate, key, _no_password)
    except _EncryptedError as error:
        raise ConfigurationError(_encrypted(key or certificate)) from error
    except (OSError, ValueError) as error:
        named = ", ".join(str(file) for file in (ca, certificate, key) if file)
        raise ConfigurationError(f"cannot read the TLS files {named}: {error}") from error
    return context


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Create a context that shows the certificate to clients, of TLS 1.2 or newer.

    Raises:
        ConfigurationError: as `load_certificate`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    load_certificate(context, certificate, key)
    return context


def load_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Have a context show the certificate to clients from now on.

    Raises:
        ConfigurationError: a file cannot be read, is none of its kind, or the two do not belong together.
    """
    try:
        for file in (certificate, key):
            file.read_bytes()  # OpenSSL does not say which one it cannot read
        context.load_cert_chain(certificate, key, _no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ConfigurationError(f"{key} is not the key of the certificate {certificate}") from error
        raise ConfigurationError(
            f"{certificate} and {key} are no certificate and its key, in PEM: {error}"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"cannot read the TLS file {error.filename}: {error.strerror}") from error
    except _EncryptedError as error:
        raise ConfigurationError(_encrypted(key)) from error


def tls_fault(error: Exception) -> str | None:
    """Return why a web server cannot be asked by TLS, with advice; None for errors that may pass."""
    match error.reason if type(error) is URLError else error:
        case ssl.SSLCertVerificationError(verify_message=message):
            named = "the variable SSL_CERT_FILE names a file of authorities of your own"
            return f"its certificate is refused: {message}; {named}"
        case ssl.SSLError(reason="WRONG_VERSION_NUMBER"):
            return "it has no TLS: give http:// instead of https://"
        case _:
            return None


def _encrypted(key: Path | None) -> str:
    return f"the key {key} is encrypted: give one that is not, as nobody is asked for its password"


def _no_password() -> str:
    raise _EncryptedError


class _EncryptedError(Exception):
    """A key needs a password."""
