"""The options that several commands share, each group gathered into one settings value."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Literal, get_args

import click
from click.core import ParameterSource

from dehusk.inference.labelers import LABELERS
from dehusk.inference.sites import SiteKey
from dehusk.schemas.documents import Comments
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.rendering import Rendering
from dehusk.streams.cli.values import Address, Brokers, NumberRange, Url
from dehusk.streams.input_topics import input_topics
from dehusk.streams.settings import (
    MIB,
    REVISIT_TOPIC,
    Compression,
    KafkaSecurity,
    KafkaSettings,
    PageLimits,
    RedisSettings,
    TopicSettings,
    TritonSettings,
)
from dehusk.streams.sources.json_fields import DEFAULT_FIELDS, NAMES, FieldPaths
from dehusk.streams.sources.registry import SOURCES, SourceSettings
from dehusk.streams.sources.warc_pointer import NO_DIRECTORY, WarcPointer

Command = Callable[..., None]
Option = Callable[[Command], Command]
Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
_KAFKA = (
    click.option(
        "--brokers",
        type=Brokers(),
        metavar="HOST:PORT,…",
        default=KafkaSettings().brokers,
        show_default=True,
        help="Kafka's bootstrap servers; one that answers is enough to find the others.",
    ),
    click.option(
        "--security-protocol",
        type=click.Choice(get_args(Protocol)),
        default=KafkaSecurity().protocol,
        show_default=True,
        help="How the brokers' listener is secured: SSL is TLS, SASL_… asks for a user and a password.",
    ),
    click.option(
        "--sasl-mechanism",
        type=click.Choice(get_args(Mechanism)),
        help="How the password is proved; needed with SASL_PLAINTEXT and SASL_SSL.",
    ),
    click.option("--sasl-username", metavar="NAME", help="The Kafka user."),
    click.option(
        "--sasl-password",
        metavar="PASSWORD",
        help="The user's password. Prefer the environment variable: `ps` shows options to everyone.",
    ),
    click.option(
        "--tls-ca-file",
        type=_FILE,
        help="PEM file of the authorities that signed the brokers' certificates; the system's by default.",
    ),
    click.option(
        "--tls-certificate-file",
        type=_FILE,
        help="PEM file of the client's certificate, where the brokers ask for one.",
    ),
    click.option(
        "--tls-key-file",
        type=_FILE,
        help="PEM file of the key of --tls-certificate-file.",
    ),
)


def topic_option(*names: str, default: str, help: str, metavar: str = "TOPIC") -> Option:  # noqa: A002 click's
    """A topic of the cluster."""
    return click.option(
        *names,
        metavar=metavar,
        default=default,
        show_default=True,
        help=help,
    )


def checked_topics(topics: TopicSettings) -> TopicSettings:
    """The topics of a worker, if they go together.

    Raises:
        click.UsageError: they do not.
    """
    try:
        input_topics(topics)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    return topics


base_url_option: Option = click.option(
    "--base-url",
    type=Url("http", "https", "file"),
    metavar="URL",
    help="HTML files get URLs below this one, as they lie below PATH; by default file:///… of their path.",
)
"""Where HTML files are taken to be from, which reaches the command as `base_url`."""


def max_page_option(otherwise: str) -> Option:
    """The largest page, which reaches the command as `max_page_mib`, and what becomes of a larger one."""
    return click.option(
        "--max-page-mib",
        type=click.IntRange(min=1),
        default=PageLimits().max_bytes // MIB,
        show_default=True,
        help=f"Largest page, after decompression; a larger one {otherwise}.",
    )


def compression_option(command: Command) -> Command:
    """Kafka's codec for what the command sends, which reaches it as `compression`."""
    option = click.option(
        "--compression",
        type=click.Choice(get_args(Compression)),
        default="none",
        show_default=True,
        help="Kafka's codec for what is written; what is read may be compressed by any of them.",
    )
    return option(command)


def seconds_option(name: str, *, least: float, default: float, help: str) -> Option:  # noqa: A002 click's
    """How long something may take."""
    return click.option(
        name,
        type=NumberRange(min=least),
        default=default,
        show_default=True,
        help=help,
    )


def page_seconds_option(otherwise: str) -> Option:
    """The CPU time of a page, as `page_seconds`, and what becomes of a slower one."""
    return seconds_option(
        "--page-seconds",
        least=0.1,
        default=PageLimits().seconds,
        help=f"CPU time that each step of one page may take; a slower one {otherwise}. "
        "The limit of wall time is six times that.",
    )


def max_blocks_option(otherwise: str) -> Option:
    """The most blocks of a page, which reach the command as `max_page_blocks`, and what becomes of more."""
    return click.option(
        "--max-page-blocks",
        type=click.IntRange(min=1),
        default=PageLimits().max_blocks,
        show_default=True,
        help=f"Most text blocks of a page; one with more of them, or ten times as many tags, {otherwise}.",
    )


hidden_text_option: Option = click.option(
    "--hidden-text",
    type=click.Choice(["model", "drop"]),
    default="model",
    show_default=True,
    help="What becomes of text that the page hides, by `hidden`, an inline style or a closed dialog: `model` "
    "leaves it to the model, for panels and answers hide so; `drop` keeps it out of the document's text.",
)
"""What becomes of hidden text, which reaches the command as `hidden_text`."""


def comments_option(command: Command) -> Command:
    """What becomes of user comments, which reaches the command as `comments`."""
    option = click.option(
        "--comments",
        type=click.Choice([each.value for each in Comments]),
        default=Comments.SEPARATE.value,
        show_default=True,
        help="What becomes of user comments: `separate` puts them into the field `comments`, `include` into "
        "the text, `drop` leaves them out. Posts of a forum are content; so are comments that stand alone.",
    )
    return option(command)


metadata_option: Option = click.option(
    "--metadata",
    type=click.Choice([each.value for each in MetadataLevel]),
    default=MetadataLevel.FAST.value,
    show_default=True,
    help="What documents say of their pages, such as author and date: `fast` reads what pages declare to "
    "machines, `full` bylines and dates in the text, too, where they declare none, `none` nothing.",
)
"""How far metadata are looked for, which reaches the command as `metadata`."""


def comments_are_told_apart(comments: str) -> bool:
    """Whether the command line says what becomes of user comments, so that they have to be told apart."""
    return was_typed("comments") and comments != Comments.INCLUDE


def rendering_options(command: Command) -> Command:
    """The options of Markdown and HTML, which reach `command` as `rendering: Rendering`."""

    @wraps(command)
    def with_rendering(
        *, with_markdown: bool, links: str, images: str, tables: str, **others: object
    ) -> None:
        kept = {"links": links == "keep", "images": images == "keep", "tables": tables == "keep"}
        command(rendering=Rendering(with_markdown, **kept), **others)

    return _with_options(with_rendering, _RENDERING)


def redis_options(
    *,
    help: str,  # noqa: A002 click's name
    seconds_help: str = "How long Redis may take for a batch of pages until it counts as unavailable.",
) -> Option:
    """The options of a Redis and its security, which reach the command as `redis: RedisSettings`."""
    url = click.option(
        "--redis",
        type=Url("redis", "rediss", "unix"),
        metavar="URL",
        default=RedisSettings().url,
        show_default=True,
        help=help,
    )
    return lambda command: url(redis_client_options("redis", seconds_help=seconds_help)(command))


def redis_client_options(url: str, *, seconds_help: str) -> Option:
    """How the Redis is asked whose URL has an option of the command: `redis: RedisSettings`."""
    options = (
        seconds_option("--redis-seconds", least=0.1, default=RedisSettings().timeout, help=seconds_help),
        *_REDIS_CLIENT,
    )

    def with_options(command: Command) -> Command:
        @wraps(command)
        def with_redis(
            *,
            redis_seconds: float,
            redis_cluster: bool,
            redis_ca_file: Path | None,
            redis_certificate_file: Path | None,
            redis_key_file: Path | None,
            **others: Any,  # noqa: ANN401 the options of the command, whatever they are
        ) -> None:
            files = (redis_ca_file, redis_certificate_file, redis_key_file)
            settings = RedisSettings(others[url] or RedisSettings().url, redis_cluster, redis_seconds, *files)
            _check_redis(settings, url)
            command(**{**others, "redis": settings})

        return _with_options(with_redis, options)

    return with_options


def site_key_option(command: Command) -> Command:
    """Which pages are of one site, which reaches the command as `site_key`."""
    option = click.option(
        "--site-key",
        type=click.Choice([key.value for key in SiteKey]),
        default=SiteKey.HOST.value,
        show_default=True,
        help="Which pages are of one site: those of a host (blog.example.org); of all hosts of a domain that "
        "can be registered (.example.org); or of a folder at the top of a host (example.org/blog).",
    )
    return option(command)


def processes_option(default: Callable[[], int], *, shown: str, help: str) -> Option:  # noqa: A002 click's name
    """How many processes take pages apart."""
    return click.option(
        "--processes",
        type=click.IntRange(min=1),
        default=default,
        show_default=shown,
        help=help,
    )


_REDIS_CLIENT = (
    click.option("--redis-cluster", is_flag=True, help="The URL is one of a Redis Cluster."),
    click.option(
        "--redis-ca-file",
        type=_FILE,
        help="PEM file of the authorities that signed Redis' certificate, for a rediss:// URL; the system's "
        "by default.",
    ),
    click.option(
        "--redis-certificate-file",
        type=_FILE,
        help="PEM file of the client's certificate, where Redis asks for one.",
    ),
    click.option(
        "--redis-key-file",
        type=_FILE,
        help="PEM file of the key of --redis-certificate-file.",
    ),
)
_MODEL = (
    click.option(
        "--model",
        metavar="NAME",
        default=TritonSettings().model,
        show_default=True,
        help="The model in the repository.",
    ),
    click.option(
        "--model-version",
        metavar="NUMBER",
        default=TritonSettings().version,
        help="Stay with this version; by default the newest that version_policy in the model's config.pbtxt "
        "lets be served, and with Triton that may be swapped meanwhile.",
    ),
)
_REVISITS = (
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
_RENDERING = (
    click.option(
        "--with-markdown",
        is_flag=True,
        help="Add the field `markdown`: the content with its headings, emphasis, links, images, lists, "
        "quotations, code, tables and formulas.",
    ),
    *(
        click.option(
            f"--{name}",
            type=click.Choice(["keep", "drop"]),
            default="keep",
            show_default=True,
            help=f"What becomes of {name} in Markdown and HTML{dropped}. The text is the same in any case.",
        )
        for name, dropped in (
            ("links", "; what is linked is kept"),
            ("images", ""),
            ("tables", ", their texts included; tables that lay out a page are none"),
        )
    ),
)
_SOURCE = (
    click.option(
        "--source",
        type=click.Choice(SOURCES),
        default="auto",
        show_default=True,
        help="The crawler format of the messages; `auto` recognises it for each message.",
    ),
    click.option(
        "--field",
        metavar="NAME=PATH",
        multiple=True,
        help="With --source json: where a message holds what, e.g. --field url=page.link --field html=body. "
        f"Names: {', '.join(NAMES)}; each stands at the top under its own name by default.",
    ),
    click.option(
        "--warc-directory",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="With --source warc-pointer: where the crawler writes its WARC files.",
    ),
    click.option(
        "--schema-registry",
        type=Url("http", "https"),
        metavar="URL",
        help="The registry of the schemas of Avro messages, e.g. http://localhost:8081.",
    ),
    click.option(
        "--framed",
        is_flag=True,
        help="Every value is framed by a schema registry. Only needed with --source html, where frames are "
        "not recognised, as pages can begin with the same bytes.",
    ),
    max_page_option("is a dead letter"),
)
_WITH_FIELDS = {"json", "auto"}
"""The values of --source that read objects whose fields can be named."""


def kafka_options(command: Command) -> Command:
    """The options of a Kafka cluster and its security, which reach `command` as `kafka: KafkaSettings`."""

    @wraps(command)
    def with_kafka(
        *,
        brokers: str,
        security_protocol: Protocol,
        sasl_mechanism: Mechanism | None,
        sasl_username: str | None,
        sasl_password: str | None,
        tls_ca_file: Path | None,
        tls_certificate_file: Path | None,
        tls_key_file: Path | None,
        **others: object,
    ) -> None:
        security = KafkaSecurity(
            security_protocol,
            sasl_mechanism,
            sasl_username,
            sasl_password,
            tls_ca_file,
            tls_certificate_file,
            tls_key_file,
        )
        _check(security)
        command(kafka=KafkaSettings(brokers, security), **others)

    return _with_options(with_kafka, _KAFKA)


def source_options(command: Command) -> Command:
    """The options of a crawler format, which reach `command` as `source` and `source_settings`."""

    @wraps(command)
    def with_source(
        *,
        source: str,
        field: tuple[str, ...],
        warc_directory: Path | None,
        schema_registry: str | None,
        framed: bool,
        max_page_mib: int,
        **others: object,
    ) -> None:
        if field and source not in _WITH_FIELDS:
            raise click.UsageError("--field is for --source json")
        settings = SourceSettings(max_page_mib * MIB, _paths(field), warc_directory, schema_registry, framed)
        command(source=source, source_settings=settings, **others)

    return _with_options(with_source, _SOURCE)


def require_warc_directory(crawler: str, settings: SourceSettings) -> None:
    """See whether the WARC files that messages point to have a directory.

    Raises:
        click.UsageError: they have none.
    """
    if crawler == WarcPointer.name and settings.warc_directory is None:
        raise click.UsageError(NO_DIRECTORY)


def labeler_options(when: str = "") -> Option:
    """The options `--labeler` and `--triton` of a command that runs the model itself unless Triton is named.

    `labeler_of` says whom they name; `when` is said of when that one labels.
    """
    labeler = click.option(
        "--labeler",
        type=click.Choice(LABELERS),
        help=f"Who tells content from boilerplate{when}: the model in this process (onnx, the default), on a "
        "Triton server (the default with --triton), or one without a model, as Boilerpipe's rules.",
    )
    triton = click.option(
        "--triton", type=Address(), metavar="HOST:PORT", help="gRPC address of a Triton server."
    )
    return lambda command: _with_options(command, (labeler, triton))


def labeler_of(labeler: str | None, triton: str | None) -> str:
    """The labeler that `labeler_options` name.

    Raises:
        click.UsageError: it asks no Triton server, and one is named.
    """
    named = labeler or ("triton" if triton else "onnx")
    require_labeler_of_triton(named)
    return named


def require_labeler_of_triton(labeler: str) -> None:
    """See whether a labeler asks the Triton server that the command line names.

    Raises:
        click.UsageError: it asks none.
    """
    if labeler != "triton" and was_typed("triton"):
        raise click.UsageError(f"--triton is for --labeler triton, not {labeler}")


def was_typed(parameter: str) -> bool:
    """Whether an option is from the command line; what holds for all commands need not suit each."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source is ParameterSource.COMMANDLINE


def revisit_options(command: Command) -> Command:
    """The options of second cleanings, which reach `command` as `revisit_after` and `revisit_topic`."""
    return _with_options(command, _REVISITS)


def model_options(command: Command) -> Command:
    """The options of a model, which reach `command` as `model` and `model_version`."""
    return _with_options(command, _MODEL)


def _paths(fields: tuple[str, ...]) -> FieldPaths:
    paths = dict(DEFAULT_FIELDS)
    for field in fields:
        name, _, path = field.partition("=")
        if name not in NAMES or not path:
            raise click.UsageError(f"--field {field!r} is not NAME=PATH with a name of: {', '.join(NAMES)}")
        paths[name] = path
    return tuple(paths.items())


def _with_options(command: Command, options: tuple[Option, ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def _check(security: KafkaSecurity) -> None:
    sasl, tls = security.protocol.startswith("SASL"), security.protocol.endswith("SSL")
    credentials = (security.sasl_mechanism, security.username, security.password)
    if sasl and None in credentials:
        raise click.UsageError(
            f"{security.protocol} needs --sasl-mechanism, --sasl-username and --sasl-password"
        )
    if not sasl and credentials != (None, None, None):
        raise click.UsageError("--sasl-… options need --security-protocol SASL_SSL or SASL_PLAINTEXT")
    if (security.certificate_file is None) != (security.key_file is None):
        raise click.UsageError("--tls-certificate-file and --tls-key-file belong together: give both")
    if not tls and (security.ca_file or security.certificate_file):
        raise click.UsageError("--tls-… options need --security-protocol SSL or SASL_SSL")


def _check_redis(redis: RedisSettings, url: str) -> None:
    """See whether the settings fit together; `url` is the parameter of the URL."""
    if (redis.certificate_file is None) != (redis.key_file is None):
        raise click.UsageError("--redis-certificate-file and --redis-key-file belong together: give both")
    if (redis.ca_file or redis.certificate_file) and not redis.url.startswith("rediss://"):
        name = url.replace("_", "-")
        raise click.UsageError(f"--redis-…-file options need a --{name} URL that begins with rediss://")
