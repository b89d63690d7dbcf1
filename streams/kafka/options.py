"""Options of Kafka's clients: brokers, security and login, rack."""

import ssl
from typing import Any

from dehusk.streams.kafka.tokens import require_kerberos, token_provider
from dehusk.streams.settings import KafkaSecurity, KafkaSettings
from dehusk.streams.tls import tls_context


def client_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return the keyword arguments of aiokafka's clients.

    Raises:
        ConfigurationError: a certificate or key cannot be read, or a package that the login needs is missing.
    """
    security = settings.security
    options: dict[str, Any] = {
        "bootstrap_servers": [broker.strip() for broker in settings.brokers.split(",")],
        "security_protocol": security.protocol,
    }
    if security.protocol.endswith("SSL"):
        options["ssl_context"] = ssl_context(settings)
    if security.protocol.startswith("SASL"):
        options |= _login(security)
    return options


def consumer_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return those of aiokafka's consumers, which read from the replicas of their own rack.

    Raises:
        ConfigurationError: as `client_options`.
    """
    return client_options(settings) | {"client_rack": settings.rack}


def _login(security: KafkaSecurity) -> dict[str, Any]:
    options: dict[str, Any] = {"sasl_mechanism": security.broker_mechanism}
    match security.broker_mechanism:
        case "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = token_provider(security)
        case "GSSAPI":
            require_kerberos()
            options["sasl_kerberos_service_name"] = security.kerberos_service
        case _:
            options["sasl_plain_username"] = security.username
            options["sasl_plain_password"] = security.password
    return options


def ssl_context(settings: KafkaSettings) -> ssl.SSLContext:
    """Return the TLS context of a secured cluster, which checks the brokers' certificates and names.

    Raises:
        ConfigurationError: a certificate or key cannot be read.
    """
    security = settings.security
    return tls_context(security.ca_file, security.certificate_file, security.key_file)
