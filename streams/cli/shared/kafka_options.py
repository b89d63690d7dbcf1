"""Options of a Kafka cluster, of its security, and of the topics and groups in it."""

import re
from pathlib import Path
from typing import Any, get_args

import click

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.shared.options import (
    FILE,
    Brokers,
    Name,
    Option,
    Url,
    choice_option,
    enum_option,
    gathered_options,
    require_both,
    with_options,
)
from dehusk.streams.kafka.input_topics import input_topics
from dehusk.streams.settings import (
    REVISIT_TOPIC,
    Compression,
    Guarantee,
    KafkaSecurity,
    KafkaSettings,
    OAuthSettings,
    SaslMechanism,
    SecurityProtocol,
    TopicSettings,
)

_NEEDED: dict[str, tuple[str, ...]] = {
    "OAUTHBEARER": ("--sasl-username", "--sasl-password", "--sasl-oauth-token-url"),
    "GSSAPI": (),
    "AWS_MSK_IAM": ("--sasl-aws-region",),
}
"""Options that a mechanism needs which does not prove a password."""


def _kafka_settings(
    *,
    brokers: str,
    security_protocol: SecurityProtocol,
    sasl_mechanism: SaslMechanism | None,
    sasl_username: str | None,
    sasl_password: str | None,
    sasl_oauth_token_url: str | None,
    sasl_oauth_scope: str | None,
    sasl_oauth_audience: str | None,
    sasl_oauth_ca_file: Path | None,
    sasl_oauth_extension: tuple[str, ...],
    sasl_kerberos_service: str,
    sasl_aws_region: str | None,
    tls_ca_file: Path | None,
    tls_certificate_file: Path | None,
    tls_key_file: Path | None,
    client_rack: str | None,
) -> KafkaSettings:
    credentials = (sasl_mechanism, sasl_username, sasl_password)
    files = (tls_ca_file, tls_certificate_file, tls_key_file)
    of_tokens = (sasl_oauth_scope, sasl_oauth_audience, sasl_oauth_ca_file, sasl_oauth_extension)
    oauth = None
    if sasl_oauth_token_url:
        extensions = tuple(map(_extension, sasl_oauth_extension))
        oauth = OAuthSettings(
            sasl_oauth_token_url, sasl_oauth_scope, sasl_oauth_audience, sasl_oauth_ca_file, extensions
        )
    elif any(of_tokens):
        raise click.UsageError("--sasl-oauth-… options need --sasl-oauth-token-url")
    security = KafkaSecurity(
        security_protocol, *credentials, *files, oauth, sasl_kerberos_service, sasl_aws_region
    )
    _check_security(security)
    return KafkaSettings(brokers, security, client_rack)


def _extension(text: str) -> tuple[str, str]:
    """Return the name and the value of a SASL extension (RFC 7628, 3.1), in which nothing may end it."""
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch("[A-Za-z]+", name) or not re.fullmatch(r"[ -~\t]+", value):
        raise click.UsageError(
            f"--sasl-oauth-extension {text!r} is not NAME=VALUE, e.g. logicalCluster=lkc-1"
        )
    return name, value


def _check_security(security: KafkaSecurity) -> None:
    sasl, tls = security.protocol.startswith("SASL"), security.protocol.endswith("SSL")
    if not sasl and (security.sasl_mechanism or any(_logins(security).values())):
        raise click.UsageError("--sasl-… options need --security-protocol SASL_SSL or SASL_PLAINTEXT")
    if sasl:
        _check_login(security)
    require_both("tls", security.certificate_file, security.key_file)
    if not tls and (security.ca_file or security.certificate_file):
        raise click.UsageError("--tls-… options need --security-protocol SSL or SASL_SSL")


def _logins(security: KafkaSecurity) -> dict[str, object]:
    """Return the options by which clients log in, with their values."""
    return {
        "--sasl-username": security.username,
        "--sasl-password": security.password,
        "--sasl-oauth-token-url": security.oauth,
        "--sasl-aws-region": security.aws_region,
    }


def _check_login(security: KafkaSecurity) -> None:
    """Check that a login has what its mechanism needs, and nothing else.

    Raises:
        click.UsageError: it does not.
    """
    mechanism = security.sasl_mechanism
    if mechanism is None:
        raise click.UsageError(f"{security.protocol} needs --sasl-mechanism, and what this needs")
    needed = _NEEDED.get(mechanism, ("--sasl-username", "--sasl-password"))
    given = [name for name, value in _logins(security).items() if value is not None]
    if missing := [name for name in needed if name not in given]:
        raise click.UsageError(f"--sasl-mechanism {mechanism} needs {' and '.join(missing)}")
    if others := [name for name in given if name not in needed]:
        raise click.UsageError(f"--sasl-mechanism {mechanism} goes without {' and '.join(others)}")
    if mechanism == "AWS_MSK_IAM" and security.protocol != "SASL_SSL":
        raise click.UsageError("--sasl-mechanism AWS_MSK_IAM needs --security-protocol SASL_SSL")


kafka_options = gathered_options(
    "kafka",
    _kafka_settings,
    click.option(
        "--brokers",
        type=Brokers(),
        metavar="HOST:PORT,…",
        default=KafkaSettings().brokers,
        show_default=True,
        help="Kafka's bootstrap servers; one that answers is enough to find the others.",
    ),
    choice_option(
        "--security-protocol",
        values=get_args(SecurityProtocol),
        default=KafkaSecurity().protocol,
        help="Security protocol of the brokers' listener: SSL is TLS, SASL_… asks for a user.",
    ),
    click.option(
        "--sasl-mechanism",
        type=click.Choice(get_args(SaslMechanism)),
        help="SASL mechanism of the listener; needed with SASL_PLAINTEXT and SASL_SSL. PLAIN and SCRAM-SHA-… "
        "prove a password, OAUTHBEARER a token of --sasl-oauth-token-url, GSSAPI a Kerberos ticket, and "
        "AWS_MSK_IAM a token that AWS's signer makes.",
    ),
    click.option(
        "--sasl-username", metavar="NAME", help="The Kafka user; with OAUTHBEARER, the id of the client."
    ),
    click.option(
        "--sasl-password",
        metavar="PASSWORD",
        help="The user's password; with OAUTHBEARER, the secret of the client. Prefer the environment "
        "variable: `ps` shows options to everyone.",
    ),
    click.option(
        "--sasl-oauth-token-url",
        type=Url("https"),
        metavar="URL",
        help="With OAUTHBEARER: the token endpoint of the OpenID Connect server, which gives tokens for the "
        "client's credentials. They are renewed in time.",
    ),
    click.option("--sasl-oauth-scope", metavar="SCOPE", help="The scope that the token is asked for with."),
    click.option(
        "--sasl-oauth-audience", metavar="AUDIENCE", help="The audience that the token is asked for with."
    ),
    click.option(
        "--sasl-oauth-ca-file",
        type=FILE,
        help="PEM file of the authorities that signed the certificate of --sasl-oauth-token-url; the "
        "system's by default.",
    ),
    click.option(
        "--sasl-oauth-extension",
        metavar="NAME=VALUE",
        multiple=True,
        help="A SASL extension that brokers ask for beside the token, e.g. logicalCluster=lkc-1.",
    ),
    click.option(
        "--sasl-kerberos-service",
        type=Name(),
        metavar="NAME",
        default=KafkaSecurity().kerberos_service,
        show_default=True,
        help="With GSSAPI: the first part of the brokers' principals. Needs the extra `kerberos`.",
    ),
    click.option(
        "--sasl-aws-region",
        metavar="REGION",
        help="With AWS_MSK_IAM: the cluster's region, e.g. eu-west-1. Needs the extra `msk`; the credentials "
        "are those that AWS's own tools find.",
    ),
    click.option(
        "--tls-ca-file",
        type=FILE,
        help="PEM file of the authorities that signed the brokers' certificates; the system's by default.",
    ),
    click.option(
        "--tls-certificate-file",
        type=FILE,
        help="PEM file of the client's certificate, where the brokers ask for one.",
    ),
    click.option("--tls-key-file", type=FILE, help="PEM file of the key of --tls-certificate-file."),
    click.option(
        "--client-rack",
        metavar="RACK",
        help="The rack or zone of this machine, e.g. eu-west-1a: partitions are read from a replica there, "
        "where the brokers choose so (replica.selector.class).",
    ),
)
"""Options of a Kafka cluster and its security, which reach a command as `kafka: KafkaSettings`."""
compression_option = choice_option(
    "--compression",
    values=get_args(Compression),
    default="none",
    help="Kafka's codec for what is written; what is read may be compressed by any of them.",
)


def topic_option(*names: str, default: str, help: str, metavar: str = "TOPIC") -> Option:  # noqa: A002 click's
    """Return an option that names a topic of the cluster."""
    return click.option(*names, type=Name(), metavar=metavar, default=default, show_default=True, help=help)


def optional_topic_option(name: str, *, help: str, **settings: Any) -> Option:  # noqa: A002, ANN401 click's
    """Return an option that names a topic with which a worker can do without; none by default."""
    return click.option(
        name, metavar="TOPIC", show_default=True, callback=_none_if_empty, help=help, **settings
    )


def _none_if_empty(_context: click.Context, option: click.Parameter, name: str | None) -> str | None:
    """Return None for an empty name, which a command refuses that cannot do without the topic."""
    if name and name.strip():
        return name
    if option.required or isinstance(option.default, str):
        raise click.BadParameter("it is empty")
    return None


def group_option(help: str) -> Option:  # noqa: A002 click's
    """Return the option of the workers' consumer group."""
    return click.option(
        "--group", type=Name(), metavar="NAME", default=TopicSettings().group, show_default=True, help=help
    )


revisit_options = with_options(
    click.option(
        "--revisit-after",
        type=click.IntRange(min=0, max=1000),
        metavar="PAGES",
        default=0,
        show_default=True,
        help="Clean the first pages of each site a second time once so many of it are known; 0 for never. "
        "The second document has the same key and the revision 2.",
    ),
    topic_option(
        "--revisit-topic",
        default=REVISIT_TOPIC,
        help="The topic by which workers ask each other for that; only needed with --revisit-after.",
    ),
)
"""Options of second cleanings: `revisit_after` and `revisit_topic`."""


membership_options = with_options(
    optional_topic_option(
        "--audit-topic",
        help="A topic for what became of each message, whether or not it gave a document: a record of some "
        "400 bytes, from which `dehusk why` answers. None by default.",
    ),
    optional_topic_option(
        "--monitoring-topic",
        help="A topic on which the workers share their figures, so that the live page of each shows the "
        "whole group, and `dehusk top` shows it in a terminal. None by default.",
    ),
    optional_topic_option(
        "--control-topic",
        help="The topic that says which versions of the model label which part of the crawl. `dehusk model` "
        "writes to it, by default to dehusk-control, which `dehusk up` creates. None by default: then the "
        "trusted version labels, or the one of --model-version.",
    ),
    group_option("The consumer group; a new name reads the topic from its beginning."),
    enum_option(
        "--delivery",
        default=Guarantee.AT_LEAST_ONCE,
        help="With exactly-once, results and offsets are written in transactions: readers of committed "
        "records see each page once, whatever fails. It costs some throughput and latency.",
    ),
)
"""Options of a member of a group: `audit_topic`, `monitoring_topic`, `control_topic`, `group`, `delivery`."""


def topic_settings(
    *,
    input_topic: str,
    output: str,
    dead_letters: str,
    group: str,
    revisit_after: int,
    revisit_topic: str,
    audit_topic: str | None,
    monitoring_topic: str | None,
    control_topic: str | None,
    unsure_topic: str | None,
) -> TopicSettings:
    """Return the topics of a worker, from its options, if they go together.

    Raises:
        click.UsageError: they do not.
    """
    revisits = revisit_topic if revisit_after else None
    others = (revisits, audit_topic, monitoring_topic, control_topic, unsure_topic)
    topics = TopicSettings(input_topic, output, dead_letters, group, *others)
    try:
        input_topics(topics)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    return topics
