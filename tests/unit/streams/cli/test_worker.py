"""`dehusk worker`: its options as the settings of a worker."""

import asyncio

import pytest
from click.testing import CliRunner

from schemas.errors import ConfigurationError
from streams.cli import cli
from streams.settings import MIB, RedisSettings, TopicSettings, TritonSettings, WhenTritonIsUnavailable
from streams.worker.settings import MonitoringSettings, WorkerSettings


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[WorkerSettings]:
    """The settings of the workers that were started."""
    found: list[WorkerSettings] = []

    async def run_worker(settings: WorkerSettings) -> None:
        await asyncio.sleep(0)
        found.append(settings)

    monkeypatch.setattr("streams.cli.worker.run_worker", run_worker)
    monkeypatch.setattr("streams.cli.worker.configure_logs", lambda *args, **kwargs: None)
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
        *("--input", "in", "--output", "out", "--dead-letters", "dead", "--group", "g"),
        *(
            "--labeler",
            "onnx",
            "--triton",
            "t:1",
            "--model",
            "m",
            "--model-version",
            "3",
            "--triton-seconds",
            "5",
        ),
        *("--when-triton-is-unavailable", "rules", "--redis", "redis://r:1/2", "--redis-cluster"),
        *("--redis-seconds", "0.5"),
        *("--format", "html", "--processes", "3", "--page-seconds", "4", "--max-page-mib", "2"),
        *("--grace-seconds", "9", "--session-seconds", "8", "--monitoring", "0.0.0.0:99", "--with-blocks"),
    )
    (settings,) = started
    assert settings.topics == TopicSettings("in", "out", "dead", "g")
    assert (settings.labeler, settings.triton) == ("onnx", TritonSettings("t:1", "m", "3", 5.0))
    assert settings.when_triton_is_unavailable is WhenTritonIsUnavailable.RULES
    assert settings.redis == RedisSettings("redis://r:1/2", cluster=True, timeout=0.5)
    assert (settings.format, settings.with_blocks, settings.processes) == ("html", True, 3)
    assert (settings.page.max_bytes, settings.source_settings.max_bytes) == (2 * MIB, 2 * MIB)
    assert (settings.page.seconds, settings.flow.grace_seconds, settings.session_seconds) == (4, 9, 8)
    assert settings.monitoring == MonitoringSettings("0.0.0.0", 99)


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


@pytest.mark.parametrize("address", ["8080", ":8080", "localhost", "localhost:http"])
def test_an_address_that_is_none_is_refused(started: list[WorkerSettings], address: str) -> None:
    with pytest.raises(ConfigurationError, match="HOST:PORT"):
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
