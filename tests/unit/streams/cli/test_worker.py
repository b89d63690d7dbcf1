"""`dehusk worker`: its options as the settings of a worker."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import click
import orjson
import pytest
from aiokafka.protocol.types import Int32
from click.testing import CliRunner

from dehusk.inference.sites import SiteKey
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import Rendering
from dehusk.streams.cli import cli, main
from dehusk.streams.logs import configure_logs
from dehusk.streams.settings import (
    MIB,
    MOST_SECONDS,
    RedisSettings,
    TopicSettings,
    TritonSettings,
    WhenTritonIsUnavailable,
)
from dehusk.streams.worker_settings import MonitoringSettings, WorkerSettings

REGISTRY = ("--schema-registry", "http://registry:8081")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[WorkerSettings]:
    """The settings of the workers that were started."""
    found: list[WorkerSettings] = []

    async def run_worker(settings: WorkerSettings) -> None:
        await asyncio.sleep(0)
        found.append(settings)

    monkeypatch.setattr("dehusk.streams.worker.run.run_worker", run_worker)
    monkeypatch.setattr("dehusk.streams.cli.worker.configure_logs", lambda *args, **kwargs: None)
    return found


def worker(*options: str, env: dict[str, str] | None = None) -> None:
    CliRunner().invoke(cli, ["worker", *options], env=env, catch_exceptions=False, standalone_mode=False)


def test_without_options_a_worker_has_the_default_settings(started: list[WorkerSettings]) -> None:
    worker()
    (settings,) = started
    default = WorkerSettings()
    assert (settings.kafka, settings.topics, settings.redis) == (default.kafka, default.topics, default.redis)
    assert (settings.triton, settings.labeler, settings.page) == (
        default.triton,
        default.labeler,
        default.page,
    )
    assert settings.monitoring == default.monitoring


def test_options_reach_the_settings(started: list[WorkerSettings]) -> None:
    worker(
        *("--compression", "lz4"),
        *("--input", "in,more", "--output", "out", "--dead-letters", "dead", "--group", "g"),
        *("--triton", "t:1", "--model", "m", "--model-version", "3", "--triton-seconds", "5"),
        *("--when-triton-is-unavailable", "rules", "--redis", "redis://r:1/2", "--redis-cluster"),
        *("--redis-seconds", "0.5", "--site-key", "domain"),
        *("--processes", "3", "--page-seconds", "4", "--max-page-mib", "2"),
        *("--max-page-blocks", "7"),
        *("--grace-seconds", "9", "--session-seconds", "8", "--monitoring", "0.0.0.0:99", "--with-blocks"),
        *("--hidden-text", "drop", "--metadata", "full"),
        *("--hidden-text", "drop", "--with-markdown", "--with-html", "--links", "drop", "--tables", "drop"),
    )
    (settings,) = started
    assert settings.topics == TopicSettings("in,more", "out", "dead", "g")
    assert settings.compression == "lz4"
    assert (settings.labeler, settings.triton) == ("triton", TritonSettings("t:1", "m", "3", 5.0))
    assert settings.when_triton_is_unavailable is WhenTritonIsUnavailable.RULES
    assert settings.redis == RedisSettings("redis://r:1/2", cluster=True, timeout=0.5)
    assert settings.site_key is SiteKey.DOMAIN
    assert (settings.options.with_blocks, settings.processes) == (True, 3)
    assert settings.options.drop_hidden
    assert settings.options.metadata is MetadataLevel.FULL
    assert settings.options.rendering == Rendering(markdown=True, html=True, links=False, tables=False)
    assert (settings.page.max_bytes, settings.source_settings.max_bytes) == (2 * MIB, 2 * MIB)
    assert settings.page.max_blocks == 7
    assert (settings.page.seconds, settings.flow.grace_seconds, settings.session_seconds) == (4, 9, 8)
    assert settings.monitoring == MonitoringSettings("0.0.0.0", 99)


def test_a_format_reaches_the_settings(started: list[WorkerSettings]) -> None:
    worker("--format", "html", "--links", "drop")
    assert (started[0].format, started[0].options.rendering) == ("html", Rendering(links=False))


def test_the_inspector_can_be_left_out(started: list[WorkerSettings]) -> None:
    worker()
    worker("--no-inspector")
    worker(env={"DEHUSK_WORKER_NO_INSPECTOR": "1"})
    assert [settings.monitoring.inspector for settings in started] == [True, False, False]


def test_a_token_guards_the_monitoring_pages(started: list[WorkerSettings]) -> None:
    token = "0123456789abcdef"
    worker(env={"DEHUSK_WORKER_MONITORING_TOKEN": token})
    worker("--monitoring-token", token)
    worker("--monitoring-token", "", env={"DEHUSK_MONITORING_TOKEN": token})
    assert [settings.monitoring.token for settings in started] == [token, token, None]


def test_spans_are_exported_only_where_that_is_asked_for(started: list[WorkerSettings]) -> None:
    worker()
    worker("--otlp", "http://collector:4318")
    worker(env={"DEHUSK_WORKER_OTLP": "https://collector/otlp"})
    assert [settings.otlp for settings in started] == [
        None,
        "http://collector:4318",
        "https://collector/otlp",
    ]
    with pytest.raises(click.BadParameter, match="begins with http:// or https://"):
        worker("--otlp", "collector:4317")


@pytest.mark.parametrize(
    "token", ["short", "with a space in it", "not/for+a/url+=======", "0123456789abcdef\n"]
)
def test_a_token_that_fits_no_header_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(click.BadParameter, match="16 characters or more") as error:
        worker("--monitoring-token", token)
    assert token not in error.value.format_message()


def test_files_of_redis_certificates_are_paths(started: list[WorkerSettings], tmp_path: Path) -> None:
    names = ("--redis-ca-file", "--redis-certificate-file", "--redis-key-file")
    files = [tmp_path / name for name in names]
    for file in files:
        file.touch()
    options = [part for name, file in zip(names, files, strict=True) for part in (name, str(file))]
    worker("--redis", "rediss://r:1/0", *options)
    ca, certificate, key = files
    expected = RedisSettings("rediss://r:1/0", ca_file=ca, certificate_file=certificate, key_file=key)
    assert started[0].redis == expected


def test_a_control_topic_says_which_versions_label(started: list[WorkerSettings]) -> None:
    worker("--control-topic", "control", "--labeler", "onnx")
    assert started[0].topics.control == "control"
    assert "control" in started[0].topics.written


def test_a_repository_is_for_a_model_in_process(started: list[WorkerSettings], tmp_path: Path) -> None:
    worker("--labeler", "onnx", "--model-repository", str(tmp_path))
    assert started[0].model_repository == tmp_path
    with pytest.raises(click.UsageError, match="--model-repository is for"):
        worker("--model-repository", str(tmp_path))


def test_a_repository_of_all_commands_does_not_disturb_a_worker_on_triton(
    started: list[WorkerSettings], tmp_path: Path
) -> None:
    worker(env={"DEHUSK_MODEL_REPOSITORY": str(tmp_path)})
    assert started[0].labeler == "triton"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model-version", "7"), "leave --model-version out"),
        (("--labeler", "rules"), "--labeler rules has no model"),
    ],
)
def test_what_a_control_topic_rules_out_is_refused(options: tuple[str, ...], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        worker("--control-topic", "control", *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--redis-ca-file", __file__), "rediss://"),
        (("--redis", "rediss://r:1/0", "--redis-key-file", __file__), "belong together"),
        (("--redis", "rediss://r:1/0", "--redis-certificate-file", __file__), "belong together"),
    ],
)
def test_files_of_redis_that_cannot_be_used_are_refused(options: tuple[str, ...], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        worker(*options)


def test_files_of_the_monitoring_pages_are_paths(started: list[WorkerSettings], tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate", tmp_path / "key"
    certificate.touch()
    key.touch()
    names = ("--monitoring-certificate-file", "--monitoring-key-file")
    worker(names[0], str(certificate), names[1], str(key))
    worker(names[0], "", names[1], "")
    given, none = (settings.monitoring for settings in started)
    assert (given.certificate_file, given.key_file) == (certificate, key)
    assert none == MonitoringSettings()


@pytest.mark.parametrize("name", ["--monitoring-certificate-file", "--monitoring-key-file"])
def test_one_file_of_the_monitoring_pages_does_not_do(name: str, tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="belong together"):
        worker(name, __file__)
    with pytest.raises(click.UsageError, match="does not exist"):
        worker(name, str(tmp_path / "none"))


def test_an_address_of_ipv6_is_taken_out_of_its_brackets(started: list[WorkerSettings]) -> None:
    worker("--monitoring", "[::1]:8080")
    assert (started[0].monitoring.host, started[0].monitoring.port) == ("::1", 8080)


def test_first_pages_are_cleaned_again_only_where_that_is_asked_for(started: list[WorkerSettings]) -> None:
    worker("--revisit-topic", "again")
    worker("--revisit-after", "20")
    worker("--revisit-after", "5", "--revisit-topic", "again")
    found = [(settings.revisit_after, settings.topics.revisits) for settings in started]
    assert found == [(0, None), (20, "dehusk-revisits"), (5, "again")]


def test_comments_are_told_apart_only_where_that_is_typed(
    started: list[WorkerSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    for typed in ((), ("--comments", "separate"), ("--comments", "drop"), ("--comments", "include")):
        worker(*typed)
    monkeypatch.setenv("DEHUSK_COMMENTS", "drop")
    worker()
    assert [settings.comments_are_told_apart for settings in started] == [False, True, True, False, False]


OPTIONAL_TOPICS = ("--audit-topic", "--unsure-topic", "--monitoring-topic", "--control-topic")


@pytest.mark.parametrize("name", ["", " "])
def test_a_topic_without_a_name_is_none(started: list[WorkerSettings], name: str) -> None:
    worker(*(word for option in OPTIONAL_TOPICS for word in (option, name)))
    assert started[0].topics == WorkerSettings().topics


def test_the_longest_session_fits_into_a_request(started: list[WorkerSettings]) -> None:
    worker("--session-seconds", str(MOST_SECONDS))
    milliseconds = int(started[0].session_seconds * 1000)
    assert Int32.decode(BytesIO(Int32.encode(milliseconds))) == milliseconds
    with pytest.raises(ValueError, match="'i' format"):
        Int32.encode(milliseconds + 1000)


def test_every_option_is_an_environment_variable(started: list[WorkerSettings]) -> None:
    worker(
        env={
            "DEHUSK_WORKER_INPUT": "pages",
            "DEHUSK_WORKER_FORMAT": "dolma",
            "DEHUSK_WORKER_LABELER": "rules",
        }
    )
    (settings,) = started
    assert (settings.topics.input, settings.format, settings.labeler) == ("pages", "dolma", "rules")


def test_more_batches_are_in_flight_than_processes_can_prepare(started: list[WorkerSettings]) -> None:
    worker("--processes", "6")
    assert started[0].flow.batches > 6


def test_a_share_that_is_no_number_is_refused(started: list[WorkerSettings]) -> None:
    with pytest.raises(click.BadParameter, match="nan is no finite number"):
        worker("--unsure-below", "nan")
    assert not started


@pytest.mark.parametrize("address", ["8080", ":8080", "localhost", "localhost:http", "localhost:99999"])
def test_an_address_that_is_none_is_refused(started: list[WorkerSettings], address: str) -> None:
    with pytest.raises(click.UsageError, match="HOST:PORT"):
        worker("--monitoring", address)
    assert not started


def test_the_help_names_each_variable() -> None:
    result = CliRunner().invoke(cli, ["worker", "--help"], auto_envvar_prefix="DEHUSK")
    for name in (
        "BROKERS",
        "INPUT",
        "FORMAT",
        "FIELD",
        "REDIS",
        "TRITON",
        "WHEN_TRITON_IS_UNAVAILABLE",
        "SASL_PASSWORD",
        "SOURCE",
    ):
        assert f"DEHUSK_WORKER_{name}" in "".join(result.output.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--redis", "redis:6379"], "it must be a URL that begins with redis:// or rediss:// or unix://"),
        (["--redis", "redis://redis:port/0"], "the URL has no host, or a port that is not one of 1 to 65535"),
        (["--schema-registry", "registry:8081"], "it must be a URL that begins with http:// or https://"),
        (["--triton", "http://triton:8001"], "'http://triton:8001' is not HOST:PORT"),
        (["--brokers", "kafka:9092,kafka:port"], "'kafka:port' is not HOST:PORT"),
        (["--brokers", "kafka:9092,kafka:99999"], "'kafka:99999' is not HOST:PORT"),
        (["--brokers", ""], "'' is not HOST:PORT"),
        (["--brokers", "user:secret@kafka:9092"], "'***@kafka:9092' is not HOST:PORT"),
        (["--brokers", "user:sec,ret@kafka:9092"], "'***@kafka:9092' is not HOST:PORT"),
        (["--brokers", "k:1,user:sec,ret@kafka:9092"], "'***@kafka:9092' is not HOST:PORT"),
        (["--group", ""], "Invalid value for '--group'"),
        (["--value-format", "avro"], "--value-format needs --schema-registry"),
        ([*REGISTRY, "--value-format", "avro", "--format", "html"], "is for --format document"),
        (["--format", "html", "--with-blocks"], "--with-blocks is for documents with all fields, not html"),
        (["--labeler", "rules", "--model", "dehusk"], "--model is for --labeler triton or onnx, not rules"),
        ([*REGISTRY, "--schema-subject", "a"], "--schema-subject is for the schema of a --value-format"),
        (["--output", " "], "Invalid value for '--output'"),
        (["--source", "warc-pointer"], "--warc-directory"),
        (["--sasl-username", "me"], "--sasl-… options need --security-protocol"),
        (["--field", "adress=page.link"], "is not NAME=PATH"),
        (["--input", ",,"], "is neither names separated by commas nor one pattern"),
        (["--input", "a", "--output", "a"], "the input a holds a, which the worker writes to"),
        (["--output", "a", "--dead-letters", "a"], "a is that of --output"),
        (
            ["--output", "a", "--revisit-after", "5", "--revisit-topic", "a"],
            "--revisit-topic needs a topic of its own, and a is that of --output",
        ),
        (["--revisit-after", "-1"], "is not in the range"),
        (["--session-seconds", "1e9"], "1000000000.0 is not in the range 1.0<=x<=2147483"),
        (["--grace-seconds", "1e300"], "1e+300 is not in the range 1.0<=x<=2147483"),
        (["--labeler", "onnx", "--triton", "t:1"], "--triton is for --labeler triton, not onnx"),
        (["--labeler", "rules", "--triton", "t:1"], "--triton is for --labeler triton, not rules"),
    ],
)
def test_what_is_missing_or_malformed_ends_with_2(
    started: list[WorkerSettings], options: list[str], said: str
) -> None:
    result = CliRunner().invoke(cli, ["worker", *options])
    assert (result.exit_code, started) == (2, [])
    assert said in result.stderr


def test_several_brokers_may_leave_their_port_out(started: list[WorkerSettings]) -> None:
    worker("--brokers", "kafka-1, [::1]:9093,10.0.0.1:9092")
    assert started[0].kafka.brokers == "kafka-1, [::1]:9093,10.0.0.1:9092"


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Restore what a worker sets in its process, at the end of the test."""
    monkeypatch.setattr("dehusk.streams.cli.interrupt_on_signals", lambda: None)
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield monkeypatch
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def ended_by(
    process: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[object, list[dict[str, Any]]]:
    """The exit status of a worker that logs JSON, and its lines."""
    process.setattr(sys, "argv", ["dehusk", "worker", "--log-json", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, [orjson.loads(line) for line in capsys.readouterr().err.splitlines()]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--monitoring", "8080"], "'8080' is not HOST:PORT"),
        (["--security-protocol", "SASL_SSL"], "SASL_SSL needs --sasl-mechanism"),
        (["--config", str(Path(__file__))], "it is no TOML"),
    ],
)
def test_what_is_wrong_with_options_is_json_in_a_log_of_json(
    process: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    status, (line,) = ended_by(process, capsys, *options)
    assert (status, line["level"], said in line["message"]) == (2, "critical", True)


def test_what_ends_a_worker_is_json_in_a_log_of_json(
    process: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run_worker(_: WorkerSettings) -> None:
        await asyncio.sleep(0)
        raise UnavailableError("Kafka does not answer")

    process.setattr("dehusk.streams.worker.run.run_worker", run_worker)
    status, (line,) = ended_by(process, capsys)
    assert (status, line["level"], line["message"]) == (1, "critical", "Kafka does not answer")


def test_a_bug_that_ends_a_worker_is_json_in_a_log_of_json(
    process: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", as_json=True)
    sys.excepthook(KeyError, KeyError("bug"), None)
    (line,) = capsys.readouterr().err.splitlines()
    assert "KeyError: 'bug'" in orjson.loads(line)["exception"]


def test_a_worker_loads_the_runtime_of_no_labeler_that_it_does_not_use() -> None:
    program = "import sys, dehusk.streams.worker.run; print({'onnxruntime', 'tritonclient'} & {*sys.modules})"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"
