"""Errors of connections to Kafka: one with the cause, in place of aiokafka's many without.

A broker that asks for a security which the settings lack is told by the way it answers.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from io import BytesIO

from aiokafka import errors
from aiokafka.protocol.admin import SaslHandShakeRequest_v1

from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.streams.kafka.errors import ADVICE, REFUSED
from dehusk.streams.settings import KafkaSettings

_CLIENT_LOG = logging.getLogger("aiokafka")
"""Logger of aiokafka.client, and of no other module of aiokafka."""
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
    _CLIENT_LOG.addFilter(buffer)
    try:
        yield
    except errors.KafkaConnectionError as error:
        records, buffer.records = buffer.records, []
        asked = await _describe_listener(settings, tls)
        if asked is not None:
            raise ConfigurationError(f"Kafka at {settings.brokers} refuses: {asked}") from error
        raise _unreached(settings, records) from error
    finally:
        _CLIENT_LOG.removeFilter(buffer)
        for record in buffer.records:
            _CLIENT_LOG.handle(record)


def _unreached(settings: KafkaSettings, records: Sequence[logging.LogRecord]) -> DehuskError:
    causes = "; ".join(record.getMessage() for record in records)
    if any(isinstance(value, REFUSED) for record in records for value in record.args or ()):
        return ConfigurationError(f"Kafka at {settings.brokers} refuses: {causes}")
    return UnavailableError(f"Kafka at {settings.brokers} does not answer{ADVICE} ({causes})")


class _LogBuffer(logging.Filter):
    """Buffer of warnings and errors, which are kept from being logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if the record is of no more than information."""
        if record.levelno < logging.WARNING:
            return True
        self.records.append(record)
        return False


async def _describe_listener(settings: KafkaSettings, tls: ssl.SSLContext | None) -> str | None:
    """Tell which security the first broker asks for beyond that of the settings; None if that is not known.

    Args:
        settings: the cluster that cannot be reached.
        tls: context of the settings' TLS, if they have one.
    """
    host, _, port = settings.brokers.split(",")[0].strip().rpartition(":")
    address = (host.strip("[]"), int(port)) if host else (port, _PORT)
    protocol = settings.security.protocol
    try:
        async with asyncio.timeout(_SECONDS):
            if tls is None and await _speaks_tls(*address):
                with_tls = "SASL_SSL" if protocol.startswith("SASL") else "SSL, or SASL_SSL with a user"
                return f"its listener speaks TLS: give --security-protocol {with_tls}"
            if not protocol.startswith("SASL") and (mechanisms := await _sasl_mechanisms(*address, tls)):
                asked = "SASL_PLAINTEXT" if tls is None else "SASL_SSL"
                return f"its listener asks for a user ({mechanisms}): give --security-protocol {asked}"
    except (OSError, EOFError):  # of the network, TLS or the time limit
        pass
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


async def _sasl_mechanisms(host: str, port: int, tls: ssl.SSLContext | None) -> str:
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
    return ", ".join(request.RESPONSE_TYPE.decode(answer).enabled_mechanisms)
