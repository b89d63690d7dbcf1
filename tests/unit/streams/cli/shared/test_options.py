"""The options that commands share, as the values that reach them."""

from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dehusk.schemas.documents import Comments, HeadlineTreatment
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import DocumentOptions, Duplicates, Favor, Rendering
from dehusk.streams.cli import cli
from dehusk.streams.cli.shared.kafka_options import kafka_options
from dehusk.streams.cli.shared.options import Option, gathered_options
from dehusk.streams.cli.shared.page_options import document_options, source_options
from dehusk.streams.settings import MIB, KafkaSecurity, KafkaSettings, OAuthSettings
from dehusk.streams.sources.registry import SourceSettings
from dehusk.streams.stores.stored import StoredPath


def kafka(*options: str, env: dict[str, str] | None = None) -> KafkaSettings:
    """The settings that reach a command."""
    reached: list[KafkaSettings] = []

    @click.command()
    @kafka_options
    @click.option("--own")
    def command(*, kafka: KafkaSettings, own: str | None) -> None:
        reached.append(kafka)

    run(command, *options, env=env)
    return reached[0]


def source(*options: str) -> tuple[str, SourceSettings]:
    reached: list[tuple[str, SourceSettings]] = []

    @click.command()
    @source_options
    def command(*, source: str, source_settings: SourceSettings) -> None:
        reached.append((source, source_settings))

    run(command, *options)
    return reached[0]


def run(command: click.Command, *options: str, env: dict[str, str] | None = None) -> None:
    CliRunner().invoke(
        command,
        options,
        env=env,
        auto_envvar_prefix="DEHUSK_TEST",
        catch_exceptions=False,
        standalone_mode=False,
    )


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0


X = click.option("--x", type=int, default=1)
Y = click.option("--y", type=int, default=2)


def gathered(*options: Option) -> dict[str, object]:
    """Return the values that reach a command, which names `x` beside the point."""
    reached: list[dict[str, object]] = []

    @click.command()
    @gathered_options("point", Point, *options)
    def command(*, x: int, **others: object) -> None:
        reached.append({"x": x, **others})

    run(command)
    return reached[0]


def test_gathered_values_reach_the_command_as_one_and_by_name_where_it_names_them() -> None:
    assert gathered(X, Y) == {"x": 1, "point": Point(1, 2)}


def test_a_field_without_an_option_has_its_default() -> None:
    assert gathered(X) == {"x": 1, "point": Point(1)}


def test_a_value_that_nothing_gathers_reaches_the_command() -> None:
    assert gathered(X, click.option("--other")) == {"x": 1, "point": Point(1), "other": None}


def test_values_are_gathered_from_gathered_ones_and_from_shared_ones() -> None:
    reached: list[tuple[int, Point]] = []

    @click.command()
    @gathered_options("far", lambda *, point, y: point.x * y, gathered_options("point", Point, X, Y))
    @gathered_options("end", lambda *, point: Point(-point.x, -point.y))
    def command(*, far: int, end: Point) -> None:
        reached.append((far, end))

    run(command)
    assert reached == [(2, Point(-1, -2))]


def test_options_of_documents_reach_the_command_as_one_value() -> None:
    reached: list[DocumentOptions] = []

    @click.command()
    @document_options(click.option("--with-blocks", is_flag=True))
    def command(*, options: DocumentOptions, comments_are_told_apart: bool) -> None:
        assert comments_are_told_apart
        reached.append(options)

    run(command, "--comments", "separate")
    run(
        command,
        "--comments",
        "drop",
        "--hidden-text",
        "drop",
        "--headline",
        "include",
        "--metadata",
        "none",
        "--images",
        "drop",
        "--duplicates",
        "minhash",
    )
    run(command, "--comments", "separate", "--favor", "recall", "--exclude", ".ads, nav")
    rendering = Rendering(images=False)
    assert reached == [
        DocumentOptions(),
        DocumentOptions(
            drop_hidden=True,
            comments=Comments.DROP,
            headline=HeadlineTreatment.INCLUDE,
            metadata=MetadataLevel.NONE,
            duplicates=Duplicates.MINHASH,
            rendering=rendering,
        ),
        DocumentOptions(favor=Favor.RECALL, exclude=".ads, nav"),
    ]
    with pytest.raises(click.BadParameter, match="'div\\[' is no CSS selector"):
        run(command, "--exclude", "div[")


SASL = ("--security-protocol", "SASL_SSL", "--sasl-mechanism")
USER = ("--sasl-username", "me", "--sasl-password", "secret")
TOKENS = ("--sasl-oauth-token-url", "https://login.example/token")
REGION = ("--sasl-aws-region", "eu-west-1")


def test_logins_without_a_password_become_settings() -> None:
    more = ("--sasl-oauth-scope", "all", "--sasl-oauth-audience", "bus", "--sasl-oauth-extension", "lc=1=2")
    oauth = OAuthSettings("https://login.example/token", "all", "bus", None, (("lc", "1=2"),))
    settings = kafka(*SASL, "OAUTHBEARER", *USER, *TOKENS, *more)
    assert settings.security == KafkaSecurity("SASL_SSL", "OAUTHBEARER", "me", "secret", oauth=oauth)
    assert "secret" not in repr(settings)
    settings = kafka(*SASL, "GSSAPI", "--sasl-kerberos-service", "bus")
    assert settings.security == KafkaSecurity("SASL_SSL", "GSSAPI", kerberos_service="bus")
    settings = kafka(*SASL, "AWS_MSK_IAM", *REGION, "--client-rack", "b")
    assert settings.security == KafkaSecurity("SASL_SSL", "AWS_MSK_IAM", aws_region="eu-west-1")
    assert (settings.security.broker_mechanism, settings.rack) == ("OAUTHBEARER", "b")


def test_by_default_kafka_is_here_and_plain() -> None:
    assert kafka() == KafkaSettings("localhost:9092", KafkaSecurity())


def test_an_option_wins_over_its_environment_variable() -> None:
    env = {"DEHUSK_TEST_BROKERS": "env:1", "DEHUSK_TEST_SASL_PASSWORD": "secret"}
    security = ("--security-protocol", "SASL_SSL", "--sasl-mechanism", "PLAIN", "--sasl-username", "me")
    settings = kafka("--brokers", "option:2", *security, env=env)
    assert settings == KafkaSettings("option:2", KafkaSecurity("SASL_SSL", "PLAIN", "me", "secret"))
    assert "secret" not in repr(settings)


def test_files_of_certificates_are_paths(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("ca", "certificate", "key")]
    for file in files:
        file.touch()
    names = ("--tls-ca-file", "--tls-certificate-file", "--tls-key-file")
    options = [part for name, file in zip(names, files, strict=True) for part in (name, str(file))]
    security = kafka("--security-protocol", "SSL", *options).security
    assert [security.ca_file, security.certificate_file, security.key_file] == files


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--security-protocol", "SASL_SSL"), "needs --sasl-mechanism"),
        ((*SASL, "PLAIN", "--sasl-username", "me"), "PLAIN needs --sasl-password"),
        ((*SASL, "OAUTHBEARER", *USER), "OAUTHBEARER needs --sasl-oauth-token-url"),
        ((*SASL, "SCRAM-SHA-512", *USER, *TOKENS), "SCRAM-SHA-512 goes without --sasl-oauth-token-url"),
        ((*SASL, "OAUTHBEARER", *USER, "--sasl-oauth-scope", "all"), "need --sasl-oauth-token-url"),
        ((*SASL, "OAUTHBEARER", *USER, *TOKENS, "--sasl-oauth-extension", "a=\x01"), "is not NAME=VALUE"),
        ((*SASL, "AWS_MSK_IAM"), "AWS_MSK_IAM needs --sasl-aws-region"),
        ((*SASL, "AWS_MSK_IAM", *USER, *REGION), "goes without --sasl-username and --sasl-password"),
        ((*SASL, "AWS_MSK_IAM", *REGION, "--security-protocol", "SASL_PLAINTEXT"), "SASL_SSL"),
        ((*SASL, "GSSAPI", *USER), "GSSAPI goes without --sasl-username"),
        (("--sasl-aws-region", "eu-west-1"), "SASL_SSL or SASL_PLAINTEXT"),
        (("--sasl-username", "me"), "SASL_SSL or SASL_PLAINTEXT"),
        (("--tls-ca-file", __file__), "SSL or SASL_SSL"),
        (("--security-protocol", "SSL", "--tls-key-file", __file__), "belong together"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: tuple[str, ...], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        kafka(*options)


def test_by_default_messages_are_recognised() -> None:
    assert source() == ("auto", SourceSettings())


def test_fields_are_added_to_the_usual_ones() -> None:
    name, settings = source("--source", "json", "--field", "url=page.link", "--field", "html=page.body")
    assert name == "json"
    paths = dict(settings.fields)
    assert (paths["url"], paths["html"], paths["status"]) == ("page.link", "page.body", "status")


@pytest.mark.parametrize("field", ["url", "url=", "adress=page.link"])
def test_a_field_that_is_none_is_refused(field: str) -> None:
    with pytest.raises(click.UsageError, match="NAME=PATH"):
        source("--field", field)


def test_fields_of_a_source_that_has_none_to_name_are_refused() -> None:
    with pytest.raises(click.UsageError, match="--source json"):
        source("--source", "html", "--field", "url=page.link")


def test_fields_are_for_messages_too_that_are_recognised_as_json() -> None:
    _, settings = source("--field", "url=page.link")
    assert dict(settings.fields)["url"] == "page.link"


def test_the_largest_page_is_given_in_mebibytes() -> None:
    assert source("--max-page-mib", "3")[1].max_bytes == 3 * MIB


@pytest.mark.parametrize(
    "words",
    [
        ("why", "u", "--audit-topic"),
        ("top", "--monitoring-topic"),
        ("model", "promote", "m/1", "--control-topic"),
    ],
)
def test_a_topic_that_a_command_cannot_do_without_has_a_name(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*words, " "])
    assert result.exit_code == 2
    assert "it is empty" in result.stderr


def test_folders_of_references_stand_between_spaces_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEHUSK_TEST_REFERENCE_ROOT", f"{tmp_path} https://host:8443/pages/")
    _, settings = source("--source", "reference")
    assert settings.reference_roots == (tmp_path, StoredPath("https://host:8443/pages/"))


def test_a_folder_of_references_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(click.BadParameter, match="does not exist"):
        source("--source", "reference", "--reference-root", str(tmp_path / "missing"))
