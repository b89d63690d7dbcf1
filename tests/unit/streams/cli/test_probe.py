"""`dehusk probe`: what the command prints of a topic that was looked at."""

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from dehusk.streams.cli import cli, probe
from dehusk.streams.kafka.client import Topic
from dehusk.streams.probe.messages import Finding, ProbeOutcome
from dehusk.streams.probe.topic import Probe, ProbedMessage

PAGE = Finding(ProbeOutcome.PAGE, None, "http://x.test/" + "a" * 300, "utf-8", 10, 7)
SKIPPED = Finding(ProbeOutcome.SKIPPED, "no-body: nothing")
GONE = Finding(ProbeOutcome.TOMBSTONE)
MESSAGES = (
    ProbedMessage("raw", 0, 3, 400, "html", framed=False, findings=(PAGE,)),
    ProbedMessage("raw", 1, 0, 9, None, framed=False, findings=(SKIPPED,)),
)


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The lines that a pipe gets, of a topic that holds some messages and of the options that are given."""

    def lines(
        messages: tuple[ProbedMessage, ...], *options: str, missing: tuple[Topic, ...] = ()
    ) -> list[str]:
        async def found(*_: object, **__: object) -> Probe:
            return Probe((Topic("raw", 2, 1),), messages, missing)

        monkeypatch.setattr("dehusk.streams.probe.topic.probe", found)
        monkeypatch.setattr(probe, "program", lambda: ".venv/bin/dehusk")
        command = ["probe", "raw", "--brokers", "k:9", *options]
        return CliRunner().invoke(cli, command, catch_exceptions=False).stdout.splitlines()

    return lines


@pytest.fixture
def lines(look: Callable[..., list[str]]) -> list[str]:
    """The lines of a page with a long URL and a message that is skipped."""
    return look(MESSAGES)


def test_a_pipe_gets_a_line_for_each_finding_without_padding(lines: list[str]) -> None:
    assert lines[:3] == [
        "message\tformat\tbytes\tbecomes\tencoding\tblocks\tURL\twhy",
        "raw/0/3\thtml\t400 bytes\tpage\tutf-8\t7\thttp://x.test/" + "a" * 300 + "\t",
        "raw/1/0\tunknown\t9 bytes\tskipped\t\t\t\tno-body: nothing",
    ]


def test_one_is_singular(look: Callable[..., list[str]]) -> None:
    output = look(MESSAGES[:1])
    assert "raw: 2 partitions, 1 replica" in output
    assert "1 message: 400 bytes in the middle, 400 bytes at most" in output


def test_missing_topics_come_with_a_way_without_the_tools_of_kafka(look: Callable[..., list[str]]) -> None:
    output = look(MESSAGES, missing=(Topic("out", 2, 1),))
    at = output.index(
        "  kafka-topics.sh --bootstrap-server k:9 --create --topic out --partitions 2 --replication-factor 1"
    )
    assert output[at + 1].startswith(
        "Or name topics that exist: the Kafka of `dehusk up`, which comes without"
    )


def test_the_worker_can_be_started_as_this_program_was(lines: list[str]) -> None:
    assert "  .venv/bin/dehusk worker --input raw --brokers k:9" in lines


def test_the_worker_is_given_the_options_of_its_group(look: Callable[..., list[str]]) -> None:
    options = (
        *("--audit-topic", "audit", "--monitoring-topic", "figures", "--group", "mine"),
        *("--delivery", "exactly-once"),
    )
    line = next(line for line in look(MESSAGES, *options) if "dehusk worker" in line)
    assert line.endswith(f" {' '.join(options)}")


def test_the_worker_is_given_what_a_file_and_the_environment_say(
    look: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "dehusk.toml"
    file.write_text('brokers = "k:8"\n[probe]\noutput = "out"')
    monkeypatch.setenv("DEHUSK_MAX_PAGE_MIB", "3")
    options = "--brokers k:9 --max-page-mib 3 --output out"
    assert f"  .venv/bin/dehusk worker --input raw {options}" in look(MESSAGES, "--config", str(file))


@pytest.mark.parametrize("url", ["http://user:secret@registry:8081", "http://registry:8081/?key=secret"])
def test_a_url_with_a_secret_is_left_to_the_environment(look: Callable[..., list[str]], url: str) -> None:
    output = look(MESSAGES, "--schema-registry", url)
    assert "  DEHUSK_WORKER_SCHEMA_REGISTRY=… .venv/bin/dehusk worker --input raw --brokers k:9" in (output)
    assert "secret" not in "".join(output)


def test_a_url_without_a_password_is_given(look: Callable[..., list[str]]) -> None:
    assert look(MESSAGES, "--schema-registry", "http://registry:8081")[-3].endswith(
        " --brokers k:9 --schema-registry http://registry:8081"
    )


def test_a_topic_whose_values_are_all_framed_is_said_to_be(look: Callable[..., list[str]]) -> None:
    framed = ProbedMessage("raw", 0, 3, 400, "html", framed=True, findings=(PAGE,))
    gone = ProbedMessage("raw", 0, 4, 4, None, framed=False, findings=(GONE,), is_tombstone=True)
    output = look((framed, gone))
    assert "each framed by a schema registry: --framed" in output
    assert "  .venv/bin/dehusk worker --input raw --brokers k:9" in output
    html = look((framed, gone), "--source", "html")
    assert "  .venv/bin/dehusk worker --input raw --framed --brokers k:9 --source html" in html
    for messages in ((*MESSAGES, framed), (gone,)):
        assert "--framed" not in "".join(look(messages, "--source", "html"))


def test_a_topic_that_is_said_to_be_framed_stays_so(look: Callable[..., list[str]]) -> None:
    output = look(MESSAGES, "--framed")
    assert "  .venv/bin/dehusk worker --input raw --framed --brokers k:9" in output


def test_the_worker_reads_no_less_than_was_looked_at(look: Callable[..., list[str]]) -> None:
    assert "--source" not in "".join(look(MESSAGES))
    assert "  .venv/bin/dehusk worker --input raw --brokers k:9 --source html" in look(
        MESSAGES, "--source", "html"
    )


def test_the_worker_is_given_the_services_that_were_named(look: Callable[..., list[str]]) -> None:
    redis, triton, onnx = ("--redis", "redis://r:1/0"), ("--triton", "t:2"), ("--labeler", "onnx")
    assert look(MESSAGES)[-1].startswith("Add --redis URL and --triton HOST:PORT where")
    assert look(MESSAGES, *redis)[-1].startswith("Add --triton HOST:PORT where")
    for options in ((*triton, *redis), (*onnx, *redis)):
        assert (
            look(MESSAGES, *options)[-1]
            == f"  .venv/bin/dehusk worker --input raw --brokers k:9 {' '.join(options)}"
        )


def test_a_triton_of_the_environment_is_left_out_where_the_labeler_asks_none(
    look: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEHUSK_TRITON", "t:2")
    assert "  .venv/bin/dehusk worker --input raw --brokers k:9 --triton t:2" in look(MESSAGES)
    assert "  .venv/bin/dehusk worker --input raw --brokers k:9 --labeler onnx" in look(
        MESSAGES, "--labeler", "onnx"
    )


def test_an_empty_topic_is_left_out(look: Callable[..., list[str]]) -> None:
    assert "  .venv/bin/dehusk worker --input raw --brokers k:9" in look(MESSAGES, "--audit-topic", "")


def test_a_redis_with_a_password_is_left_to_the_environment(look: Callable[..., list[str]]) -> None:
    output = look(MESSAGES, "--redis", "redis://user:secret@r:1/0")
    assert "  DEHUSK_WORKER_REDIS=… .venv/bin/dehusk worker --input raw --brokers k:9" in output
    assert "secret" not in "".join(output)


def test_no_format_is_chosen_for_messages_of_two(look: Callable[..., list[str]]) -> None:
    output = look((ProbedMessage("raw", 0, 3, 400, "json or cdr", framed=False, findings=(SKIPPED,)),))
    assert "1 json or cdr" in output
    assert "  .venv/bin/dehusk worker --input raw --brokers k:9" in output


def test_tombstones_are_named(look: Callable[..., list[str]]) -> None:
    gone = ProbedMessage("raw", 0, 4, 4, None, framed=False, findings=(GONE,), is_tombstone=True)
    output = look((*MESSAGES, gone))
    assert "raw/0/4\ttombstone\t4 bytes\ttombstone\t\t\t\t" in output
    assert {"1 html", "1 unknown", "1 tombstone"} <= set(output)


LOST = Finding(ProbeOutcome.DEAD_LETTER, "record-not-found: set the directory")


def test_a_worker_for_references_needs_their_root(look: Callable[..., list[str]]) -> None:
    messages = (ProbedMessage("raw", 0, 3, 400, "reference", framed=False, findings=(LOST,)),)
    output = look(messages, "--source", "reference")
    at = output.index(
        "  .venv/bin/dehusk worker --input raw --brokers k:9 --source reference --reference-root ROOT"
    )
    assert output[at + 1].startswith("ROOT is the folder below which messages name pages")


def test_messages_that_point_to_warc_files_need_their_directory(look: Callable[..., list[str]]) -> None:
    messages = (ProbedMessage("raw", 0, 3, 400, "warc-pointer", framed=False, findings=(LOST,)),)
    output = look(messages)
    worker = "worker --input raw --brokers k:9"
    at = output.index(f"  .venv/bin/dehusk {worker} --warc-directory DIR")
    assert output[at + 1].startswith("DIR is where the crawler writes its WARC files")
    assert "No worker fits" in "".join(look(messages, "--warc-directory", "."))
    known = look((*messages, *MESSAGES[1:]), "--warc-directory", ".")
    assert f"  .venv/bin/dehusk {worker} --warc-directory ." in known
    assert "DIR is" not in "".join(known)


DEAD = Finding(ProbeOutcome.DEAD_LETTER, "unknown-format: no crawler format begins with 'x'")


def test_no_worker_is_suggested_where_all_would_become_dead_letters(look: Callable[..., list[str]]) -> None:
    dead = ProbedMessage("raw", 0, 3, 400, None, framed=False, findings=(DEAD, DEAD))
    gone = ProbedMessage("raw", 0, 4, 4, None, framed=False, findings=(GONE,), is_tombstone=True)
    output = look((dead, gone))
    at = output.index("No worker fits yet: all that was looked at would become dead letters: unknown-format.")
    assert "--source json --field url=PATH" in output[at + 1]
    assert "worker --input" not in "".join(output)
    (line,) = look((dead, gone), "--json")
    assert orjson.loads(line)["worker"] is None


def test_schemas_that_are_unknown_ask_for_their_registry(look: Callable[..., list[str]]) -> None:
    lost = Finding(ProbeOutcome.DEAD_LETTER, "unknown-schema: the value needs schema ids/5: give it")
    output = look((ProbedMessage("raw", 0, 3, 400, None, framed=False, findings=(lost,)),))
    assert output[-1].endswith("Look again with --schema-registry and the URL of the registry that has them.")


def test_a_worker_is_suggested_where_some_messages_have_a_page(look: Callable[..., list[str]]) -> None:
    dead = ProbedMessage("raw", 0, 3, 400, None, framed=False, findings=(DEAD,))
    gone = ProbedMessage("raw", 0, 4, 4, None, framed=False, findings=(GONE,), is_tombstone=True)
    for messages in ((*MESSAGES, dead), (gone,), ()):
        assert "worker --input raw" in "".join(look(messages))
