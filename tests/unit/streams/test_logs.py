"""The worker's log lines."""

import logging

import orjson
import pytest
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    KafkaError,
)

from dehusk.streams.logs import (
    ABOUT,
    JsonFormatter,
    PlainFormatter,
    Repetitions,
    calm_coordination,
    is_no_wait_for_unfinished_work,
    say_once_without_log,
)


def record(logger: str, text: str, *values: object) -> logging.LogRecord:
    return logging.LogRecord(logger, logging.ERROR, __file__, 1, text, values, None)


def test_json_lines_say_when_how_bad_where_and_what() -> None:
    line = orjson.loads(JsonFormatter().format(record("dehusk.streams.worker.run", "page %d", 3)))
    assert line["time"].endswith("Z")
    assert (line["level"], line["logger"], line["message"]) == (
        "error",
        "dehusk.streams.worker.run",
        "page 3",
    )


def test_json_lines_carry_exceptions() -> None:
    failed = record("dehusk.streams", "failed")
    failed.exc_info = (ValueError, ValueError("why"), None)
    assert "ValueError: why" in orjson.loads(JsonFormatter().format(failed))["exception"]


def test_json_lines_say_what_they_are_about() -> None:
    dropped = record("dehusk.streams.worker.monitoring.drops", "skipped")
    dropped.__dict__ |= {"topic": "raw", "partition": 0, "offset": 7, "url": None, "reason": "no-body"}
    line = orjson.loads(JsonFormatter().format(dropped))
    assert {name: line.get(name) for name in ABOUT} == {
        "topic": "raw",
        "partition": 0,
        "offset": 7,
        "url": None,
        "reason": "no-body",
    }
    assert "url" not in line


def test_json_lines_hold_names_that_are_no_text() -> None:
    failed = record("dehusk.streams", "cannot read %s", "/a\udcff.pem")
    failed.url = "http://a/\ud800"
    failed.exc_info = (ValueError, ValueError("b\udcfe"), None)
    line = orjson.loads(JsonFormatter().format(failed))
    assert (line["message"], line["url"]) == ("cannot read /a?.pem", "http://a/?")
    assert line["exception"].endswith("b?")


@pytest.mark.parametrize("text", ["x" * 5000, '"' * 5000, "\n" * 400 + "y" * 5000, "語" * 5000, "\x00" * 900])
@pytest.mark.parametrize("formatter", [JsonFormatter(), PlainFormatter()])
def test_no_line_is_longer_than_collectors_take(formatter: logging.Formatter, text: str) -> None:
    failed = record("dehusk.streams", "%s", text)
    failed.url = text
    failed.exc_info = (ValueError, ValueError(f"why {text} at last"), None)
    lines = formatter.format(failed).split("\n")
    assert max(map(len, lines)) <= 1000


@pytest.mark.parametrize("formatter", [JsonFormatter(), PlainFormatter()])
def test_a_message_is_one_line_that_commands_no_terminal(formatter: logging.Formatter) -> None:
    line = formatter.format(record("opentelemetry", "no member: %s", "a\n2026 CRITICAL \x1b[31mb"))
    assert "\n" not in line
    assert "\x1b" not in line


def test_of_a_long_exception_the_end_is_kept() -> None:
    failed = record("dehusk.streams", "failed")
    failed.exc_info = (ValueError, ValueError("x" * 5000 + " at last"), None)
    line = orjson.loads(JsonFormatter().format(failed))
    assert line["message"] == "failed"
    assert line["exception"].startswith("…xxx")
    assert line["exception"].endswith(" at last")


def test_libraries_are_heard_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("dehusk.streams.logs.time.monotonic", lambda: now[0])
    repetitions = Repetitions()
    assert repetitions.filter(record("aiokafka.client", "no connection to %d", 1))
    assert not repetitions.filter(record("aiokafka.client", "no connection to %d", 2))
    assert repetitions.filter(record("aiokafka.client", "something else"))
    now[0] += 31
    assert repetitions.filter(record("aiokafka.client", "no connection to %d", 1))


def test_libraries_are_heard_once_of_a_missing_right(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("dehusk.streams.logs.time.monotonic", lambda: now[0])
    repetitions = Repetitions()
    denied = record("aiokafka.cluster", "Topic %s is not authorized for this client", "raw")
    failed = record("aiokafka.consumer", "commit failed: %s", GroupAuthorizationFailedError("g"))
    assert [repetitions.filter(each) for each in (denied, failed)] == [True, True]
    now[0] += 3600
    assert [repetitions.filter(each) for each in (denied, failed)] == [False, False]


def test_what_was_said_long_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("dehusk.streams.logs.time.monotonic", lambda: now[0])
    repetitions = Repetitions()
    for number in range(100):
        now[0] += 10
        assert repetitions.filter(record("asyncio", f"task {number} failed"))
    assert len(repetitions._logged) < 5


def test_libraries_are_heard_once_where_no_log_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    monkeypatch.setattr(handler, "emit", lambda each: said.append(each.getMessage()))
    monkeypatch.setattr(logging, "lastResort", handler)
    for _ in range(2):
        say_once_without_log()
    for _ in range(3):
        handler.handle(record("aiokafka.conn", "Sending username and password in the clear"))
        handler.handle(record("dehusk.streams.rollout.claims", "not renewed"))
    assert said == ["Sending username and password in the clear", *["not renewed"] * 3]
    assert len(handler.filters) == 1


def test_dehusk_is_heard_always() -> None:
    repetitions = Repetitions()
    assert all(
        repetitions.filter(record("dehusk.streams.worker.monitoring.progress", "%s", n)) for n in range(3)
    )


@pytest.mark.parametrize(
    ("logger", "error"),
    [
        ("aiokafka.consumer.group_coordinator", GroupLoadInProgressError()),
        ("aiokafka.producer.sender", GroupCoordinatorNotAvailableError()),
    ],
)
def test_errors_of_libraries_stay_what_they_are(logger: str, error: KafkaError) -> None:
    said = record(logger, "Group Coordinator Request failed: %s", error)
    assert calm_coordination(said)
    assert (said.levelname, said.getMessage()) == ("ERROR", f"Group Coordinator Request failed: {error}")


def test_a_group_without_a_coordinator_yet_is_a_warning_in_plain_words() -> None:
    failed = GroupCoordinatorNotAvailableError()
    said = record("aiokafka.consumer.group_coordinator", "Group Coordinator Request failed: %s", failed)
    assert calm_coordination(said)
    assert (said.levelname, said.getMessage()) == (
        "WARNING",
        "no broker coordinates the group at the moment; trying again",
    )


@pytest.mark.parametrize("text", ["wait_empty: Waiting for tasks %r", "Agent tracebacks:\n%s"])
def test_a_stop_with_work_in_flight_does_not_look_like_a_crash(text: str) -> None:
    assert not is_no_wait_for_unfinished_work(record("faust.transport.consumer", text, "all of it"))
    assert is_no_wait_for_unfinished_work(record("faust.transport.consumer", "something else"))
