"""Listeners of brokers that ask for a security which the settings lack, told by how they answer."""

import asyncio
import ssl
from io import BytesIO

from aiokafka.protocol.admin import SaslHandShakeRequest_v1

from dehusk.streams.settings import KafkaSettings

_SECONDS = 3.0
_PORT = 9092


async def describe_listener(settings: KafkaSettings, tls: ssl.SSLContext | None) -> str | None:
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
