"""Errors of connections to Kafka: one with the cause, in place of aiokafka's many without.

A broker whose listener has another security than the settings is told by the way it answers.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from io import BytesIO

from aiokafka import errors
from aiokafka.protocol.admin import SaslHandShakeRequest_v1

from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.streams.kafka.errors import ADVICE, REFUSED
from dehusk.streams.settings import KafkaSettings

_CLIENT_LOG = logging.getLogger("aiokafka")
"""Logger of aiokafka.client, and of no other module of aiokafka."""
_NO_AUTHORITY = ("self-signed certificate", "unable to get")
"""Begins of OpenSSL's words for a certificate of an authority that is not trusted."""
_OTHER_HOST = ("Hostname mismatch", "IP address mismatch")
"""Begins of OpenSSL's words for a certificate of another host."""
_NO_CERTIFICATE = ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_BAD_CERTIFICATE")
"""OpenSSL's names of the alerts by which a server misses the client's certificate."""
_SECONDS = 3.0
_PORT = 9092


@asynccontextmanager
async def connection_errors(settings: KafkaSettings, tls: ssl.SSLContext | None) -> AsyncIterator[None]:
    """Merge aiokafka's errors of a failed connection into one with the cause.

    Args:
        settings: the cluster to which a client connects.
        tls: the client's context of TLS, if it has one.
    """
    # aiokafka logs the cause for each broker, and raises an error that names none. What it logs is withheld
    # while a client starts: dehusk's error has it if no broker is reached, and else it is logged after all.
    buffer = _LogBuffer()
    outer = _BUFFER.set(buffer)
    _CLIENT_LOG.addFilter(buffer)
    try:
        yield
    except ValueError as error:
        raise UnavailableError(f"{settings.brokers} does not answer as Kafka does: {error}") from error
    except errors.KafkaConnectionError as error:
        records, buffer.records = buffer.records, []
        asked = await _describe_listener(settings, tls)
        if asked is not None:
            raise ConfigurationError(f"Kafka at {settings.brokers} refuses: {asked}") from error
        raise _unreached(settings, records) from error
    finally:
        _CLIENT_LOG.removeFilter(buffer)
        _BUFFER.reset(outer)
        for record in buffer.records:
            _CLIENT_LOG.handle(record)


def _unreached(settings: KafkaSettings, records: Sequence[logging.LogRecord]) -> DehuskError:
    causes = "; ".join(map(_describe, records))
    values = [value for record in records for value in record.args or ()]
    if any(isinstance(value, REFUSED) for value in values):
        return ConfigurationError(f"Kafka at {settings.brokers} refuses: {causes}")
    if faults := [fault for fault in map(_describe_certificate, values) if fault is not None]:
        return UnavailableError(f"the certificate of Kafka at {settings.brokers} is {faults[0]} ({causes})")
    return UnavailableError(f"Kafka at {settings.brokers} does not answer{ADVICE} ({causes})")


def _describe(record: logging.LogRecord) -> str:
    """Return the message of a record, with the names of errors that have no words."""
    values = record.args if isinstance(record.args, tuple) else ()
    named = [value if str(value) else type(value).__name__ for value in values]
    return str(record.msg) % tuple(named)


def _describe_certificate(error: object) -> str | None:
    """Tell why a broker's certificate is not taken; None for other errors."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return None
    if error.verify_message.startswith(_NO_AUTHORITY):
        return "of no authority that is trusted: name the file of its authority with --tls-ca-file"
    if error.verify_message.startswith(_OTHER_HOST):
        return (
            "of another host: give the address as the certificate names it, in --brokers or the brokers' own"
        )
    return "not valid: have it signed anew"


class _LogBuffer(logging.Filter):
    """Buffer of the warnings and errors of a client that starts, which are kept from being logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if the record is of another client, or of no more than information."""
        if _BUFFER.get() is not self or record.levelno < logging.WARNING:
            return True
        self.records.append(record)
        return False


_BUFFER: ContextVar[_LogBuffer | None] = ContextVar("_BUFFER", default=None)
"""Buffer of the client that this task starts."""


async def _describe_listener(settings: KafkaSettings, tls: ssl.SSLContext | None) -> str | None:
    """Tell which security the first broker has instead of that of the settings; None if that is not known.

    Args:
        settings: the cluster that cannot be reached.
        tls: context of the settings' TLS, if they have one.
    """
    try:
        async with asyncio.timeout(_SECONDS):
            return await _ask_listener(settings, tls)
    except ssl.SSLError as error:
        if error.reason in _NO_CERTIFICATE and settings.security.certificate_file is None:
            return "its listener asks for a certificate: give --tls-certificate-file and --tls-key-file"
    except (OSError, EOFError, ValueError):  # of the network, the time limit, or another protocol
        pass
    return None


async def _ask_listener(settings: KafkaSettings, tls: ssl.SSLContext | None) -> str | None:
    """Tell the same as `_describe_listener`.

    Raises:
        OSError, EOFError, ValueError: the broker does not answer, or not by the security of the settings.
    """
    host, _, port = settings.brokers.split(",")[0].strip().rpartition(":")
    address = (host.strip("[]"), int(port)) if host else (port, _PORT)
    protocol, mechanism = settings.security.protocol, settings.security.broker_mechanism
    if tls is None and await _speaks_tls(*address):
        with_tls = "SASL_SSL" if protocol.startswith("SASL") else "SSL, or SASL_SSL with a user"
        return f"its listener speaks TLS: give --security-protocol {with_tls}"
    if tls is not None and (open_to := await _mechanisms_without_tls(*address)) is not None:
        without_tls = "SASL_PLAINTEXT, with a user" if open_to else "PLAINTEXT, without a user"
        return f"its listener has no TLS: give --security-protocol {without_tls}"
    mechanisms = await _sasl_mechanisms(*address, tls)
    has_user = protocol.startswith("SASL")
    if mechanisms and not has_user:
        asked = "SASL_PLAINTEXT" if tls is None else "SASL_SSL"
        named = ", ".join(mechanisms)
        return f"its listener asks for a user ({named}): give --security-protocol {asked}"
    if has_user and not mechanisms:
        asked = "PLAINTEXT" if tls is None else "SSL"
        return f"its listener asks for no user: give --security-protocol {asked}, without one"
    if has_user and mechanism not in mechanisms:
        known = " or ".join(mechanisms)
        return f"its listener does not take {mechanism}: give --sasl-mechanism {known}"
    return None


async def _speaks_tls(host: str, port: int) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent
    try:
        _, writer = await asyncio.open_connection(host, port, ssl=context)
    except OSError:
        return False
    writer.close()
    return True


async def _mechanisms_without_tls(host: str, port: int) -> list[str] | None:
    """Return the mechanisms of a listener without TLS; None if it has TLS, or is none of Kafka."""
    try:
        return await _sasl_mechanisms(host, port, None)
    except (OSError, EOFError, ValueError):
        return None


async def _sasl_mechanisms(host: str, port: int, tls: ssl.SSLContext | None) -> list[str]:
    """Return the mechanisms that a broker proves passwords by; empty if it asks for none."""
    request = SaslHandShakeRequest_v1("PLAIN")
    header = request.build_request_header(correlation_id=0, client_id="dehusk")
    message = header.encode() + request.encode()
    reader, writer = await asyncio.open_connection(host, port, ssl=tls)
    try:
        writer.write(len(message).to_bytes(4) + message)
        length = int.from_bytes(await reader.readexactly(4))
        answer = BytesIO(await reader.readexactly(length))
    finally:
        writer.close()
    request.parse_response_header(answer)
    return list(request.RESPONSE_TYPE.decode(answer).enabled_mechanisms)
