"""Values of options from a configuration file, as they reach the commands of dehusk."""

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import orjson
import pytest
from click.testing import CliRunner, Result

from dehusk.inference.labelers.labeler import LABELERS
from dehusk.streams.cli import cli
from dehusk.streams.cli.shared.configuration import (
    DIFFERENT,
    Configuration,
    leaves,
    options,
    warn_of_unknown_variables,
)
from dehusk.streams.stores.stored import StoredPath

FILE = """
brokers = "all:1"
max_page_mib = 2
processes = 3

[worker]
brokers = "worker:1"
page-seconds = 5
redis_cluster = true
field = ["url=a.b", "html=c"]

[dead-letters]
topic = "letters"

[dead-letters.list]
limit = 20
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in the current folder, whose name is enough."""
    monkeypatch.chdir(tmp_path)
    Path("dehusk.toml").write_text(FILE)
    return Path("dehusk.toml")


def run(*words: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli, words, env=env)


def parameters(*words: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the settings that reach the command that these words call; it does nothing."""
    reached: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(click.Command, "invoke", lambda _, context: reached.append(context.params))
        result = run(*words, env=env)
    assert result.exit_code == 0, result.output
    return reached[-1]


def test_a_table_holds_for_its_command_and_what_stands_above_for_all(file: Path) -> None:
    worker = parameters("worker", "--config", str(file))
    assert (worker["brokers"], worker["max_page_mib"], worker["processes"]) == ("worker:1", 2, 3)
    assert (worker["page_seconds"], worker["redis_cluster"]) == (5.0, True)
    assert worker["field"] == ("url=a.b", "html=c")
    assert worker["dead_letters"] == "dead-letters"  # the table of that name is of a command
    assert parameters("read", "--config", str(file))["brokers"] == "all:1"


def test_commands_below_a_command_have_tables_of_their_own(file: Path) -> None:
    letters = parameters("dead-letters", "list", "--config", str(file))
    assert (letters["brokers"], letters["topic"], letters["limit"]) == ("all:1", "letters", 20)
    letters = parameters("dead-letters", "replay", "--config", str(file))
    assert (letters["topic"], letters["limit"]) == ("letters", None)


def test_the_file_is_named_before_or_behind_the_command_or_by_a_variable(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('brokers = "other:1"')
    named, env = ("--config", str(file)), {"DEHUSK_CONFIG": str(other)}
    assert parameters("read", env=env)["brokers"] == "other:1"
    assert parameters(*named, "read", env=env)["brokers"] == "all:1"
    assert parameters("read", *named, env=env)["brokers"] == "all:1"
    assert parameters("--config", str(other), "read", *named)["brokers"] == "all:1"


def test_an_option_wins_over_variables_and_these_over_the_file(file: Path) -> None:
    env = {"DEHUSK_CONFIG": str(file)}
    assert parameters("worker", env=env)["brokers"] == "worker:1"
    env["DEHUSK_BROKERS"] = "shared:1"
    assert parameters("worker", env=env)["brokers"] == "shared:1"
    env["DEHUSK_WORKER_BROKERS"] = "long:1"
    assert parameters("worker", env=env)["brokers"] == "long:1"
    assert parameters("worker", "--brokers", "option:1", env=env)["brokers"] == "option:1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("broker = 'k'", "broker is no option; did you mean brokers?"),
        ("[worker]\nproceses = 3", "worker.proceses is no option; did you mean processes?"),
        ("[read]\nredis = 'r'", "read.redis is no option"),
        ("[wroker]\ngroup = 'g'", "[wroker] is no command; did you mean worker?"),
        ("[dead-letters.lst]\nlimit = 1", "[dead-letters.lst] is no command; did you mean list?"),
        ("[worker.brokers]\nhost = 'k'", "[worker.brokers] is no command"),
        ("worker = 'w'", "worker is no option; it is a command: write [worker]"),
        ("config = 'c'", "config is no option"),
        ("topic = 't'", "topic means something else in each command: put it into a table of one"),
        ("[worker]\nprocesses = '3'", "worker.processes must be a whole number"),
        ("processes = true", "processes must be a whole number"),
        ("brokers = 9092", "brokers must be a string"),
        ("[worker]\npage_seconds = '1'", "worker.page-seconds must be a number"),
        ("[worker]\nwith-blocks = 'yes'", "worker.with-blocks must be a boolean"),
        ("[worker]\nfield = 'url=a'", "worker.field must be a list of strings"),
        ("brokers = ['k']", "brokers must be a string"),
        ("processes = 0", "processes: 0 is not in the range x>=1."),
        ("processes = 1025", "processes: 1025 is more than 1024"),
        ("[demo]\npages = 2147483648", "demo.pages: 2147483648 is more than 2147483647"),
        (
            "[worker]\npage-seconds = 1\npage_seconds = 2",
            "worker.page-seconds is there twice, with - and with _",
        ),
        (
            "[worker]\nlabeler = 'onx'",
            f"worker.labeler: 'onx' is not one of {', '.join(map(repr, LABELERS))}.",
        ),
        ("brokers =", "it is no TOML: Invalid value (at end of document)"),
        (f"processes = {'[' * 100_000}", "it is nested too deeply"),
    ],
)
def test_what_does_not_fit_is_named_with_its_file(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    result = run("worker", "--config", str(file))
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, f"Error: dehusk.toml: {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[feed]\nrat = 3", "feed.rat is no option; did you mean rate?"),
        ("[feed]\nrate = 'fast'", "feed.rate must be a number"),
        ("[worker]\nprocesses = 0", "worker.processes: 0 is not in the range x>=1."),
        ("[worker]\nwarc-directory = 1", "worker.warc-directory must be a string"),
        ("[dead-letters]\nall = 1", "dead-letters.all must be a boolean"),
        ("processes = '3'", "processes must be a whole number"),
    ],
)
def test_what_is_said_of_another_command_is_checked(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    result = run("read", "--config", str(file))
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, f"Error: dehusk.toml: {said}")


def test_a_folder_of_another_command_may_be_on_another_machine(file: Path) -> None:
    file.write_text("[worker]\nwarc-directory = 'missing'")
    assert parameters("read", "--config", str(file))["topic"] == "cleaned-documents"
    assert (
        "worker.warc-directory: Directory 'missing' does not exist."
        in run("worker", "--config", "dehusk.toml").stderr
    )


def test_a_folder_may_be_one_of_a_store(file: Path) -> None:
    file.write_text(
        "warc-directory = 'https://host/crawl/'\nreference-root = ['webhdfs://host:9870/a/', 'pages']"
    )
    (file.parent / "pages").mkdir()
    worker = parameters("worker", "--config", str(file))
    assert worker["warc_directory"] == StoredPath("https://host/crawl/")
    assert worker["reference_root"] == (StoredPath("webhdfs://host:9870/a/"), Path("pages"))


def test_a_path_that_is_overridden_need_not_exist(file: Path) -> None:
    file.write_text("tls-ca-file = 'missing.pem'\n[worker]\ntls-ca-file = 'gone.pem'")
    command, own = ("worker", "--config", str(file)), Path("own.pem")
    own.touch()
    assert parameters(*command, "--tls-ca-file", str(own))["tls_ca_file"] == own
    assert parameters(*command, env={"DEHUSK_TLS_CA_FILE": str(own)})["tls_ca_file"] == own
    assert "worker.tls-ca-file: File 'gone.pem' does not exist." in run(*command).stderr
    file.write_text(f"tls-ca-file = 'missing.pem'\n[worker]\ntls-ca-file = '{own}'")
    assert parameters(*command)["tls_ca_file"] == own


@pytest.mark.parametrize("content", [b"\xff", b"a = \x00", b"a = " + b"1" * 5000])
def test_bytes_that_are_no_text_are_no_toml(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(click.UsageError, match="it is no TOML"):
        Configuration(file)


def test_a_file_that_is_not_there_is_named() -> None:
    result = run("worker", "--config", "missing.toml")
    assert (result.exit_code, "'missing.toml' does not exist" in result.stderr) == (2, True)


def test_the_example_of_the_help_is_one(file: Path) -> None:
    example = CliRunner().invoke(cli, ["--help"]).stdout.partition("A configuration file:\n")[2]
    file.write_text(example)
    assert parameters("worker", "--config", str(file))["group"] == "news"


LEAVES = dict(leaves(cli))


def variables(*words: str, option: str) -> list[str]:
    return list(options(LEAVES[words])[option].envvar or ())


def test_an_option_has_a_variable_of_its_command_and_one_of_all() -> None:
    assert variables("worker", option="triton") == ["DEHUSK_WORKER_TRITON", "DEHUSK_TRITON"]
    assert variables("feed", option="as") == ["DEHUSK_FEED_AS", "DEHUSK_AS"]
    assert variables("dead-letters", "list", option="brokers") == [
        "DEHUSK_DEAD_LETTERS_LIST_BROKERS",
        "DEHUSK_BROKERS",
    ]


def test_what_means_something_else_in_each_command_has_no_variable_for_all() -> None:
    assert variables("read", option="topic") == ["DEHUSK_READ_TOPIC"]


def test_what_has_a_variable_for_all_takes_the_same_values_everywhere() -> None:
    taken = defaultdict(list)
    for leaf in LEAVES.values():
        for name, option in options(leaf).items():
            taken[name].append((option.multiple, option.type.to_info_dict()))
    assert taken.keys() >= DIFFERENT
    differing = {name for name, types in taken.items() if any(one != types[0] for one in types)}
    assert differing <= DIFFERENT


@pytest.mark.parametrize("words", LEAVES)
def test_the_help_names_the_variables_of_each_option(words: tuple[str, ...]) -> None:
    shown = "".join(CliRunner().invoke(cli, [*words, "--help"]).output.split())
    named = [variable for option in options(LEAVES[words]).values() for variable in option.envvar or ()]
    assert named
    assert [variable for variable in named if variable not in shown] == []


def test_a_flag_is_switched_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[object] = []
    monkeypatch.setattr(click.Command, "invoke", lambda _, context: reached.append(context.params))
    CliRunner().invoke(cli, ["worker"], env={"DEHUSK_LOG_JSON": "1"})
    assert reached[-1]["log_json"] is True  # type: ignore[index]


def test_an_error_names_the_variables_in_words() -> None:
    said = CliRunner().invoke(cli, ["worker"], env={"DEHUSK_TRITON": "x"}).stderr
    assert "(env var: 'DEHUSK_WORKER_TRITON' or 'DEHUSK_TRITON'): 'x' is not HOST:PORT" in said


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Return the message about an environment with these variables."""

    monkeypatch.setattr("dehusk.streams.cli.shared.configuration.are_json", lambda: False)

    def said(**variables: str) -> list[str]:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        warn_of_unknown_variables(cli, cli)
        return capsys.readouterr().err.splitlines()

    return said


def test_a_mistyped_variable_is_named_with_the_nearest_one(warnings: Callable[..., list[str]]) -> None:
    assert warnings(DEHUSK_BROKRES="k:1", DEHUSK_CLEAN_PROCESES="1", DEHUSK_QQQQQQQQQQQQQQ="1") == [
        "dehusk: DEHUSK_BROKRES is ignored: no option has this variable; did you mean DEHUSK_BROKERS?",
        "dehusk: DEHUSK_CLEAN_PROCESES is ignored: no option has this variable; did you mean "
        "DEHUSK_CLEAN_PROCESSES?",
        "dehusk: DEHUSK_QQQQQQQQQQQQQQ is ignored: no option has this variable",
    ]


def test_a_variable_without_its_command_is_named_with_it(warnings: Callable[..., list[str]]) -> None:
    (said,) = warnings(DEHUSK_FORMAT="markdown")
    assert "did you mean DEHUSK_CLEAN_FORMAT" in said


def test_the_variables_of_any_command_are_no_mistake(warnings: Callable[..., list[str]]) -> None:
    assert warnings(DEHUSK_BROKERS="k:1", DEHUSK_READ_TOPIC="t", DEHUSK_CONFIG="c") == []


def test_other_commands_are_not_loaded_for_variables_of_the_one_that_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unlisted(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            pytest.fail("all commands are loaded")

    command = cli.get_command(click.Context(cli), "why")
    assert command is not None
    monkeypatch.setenv("DEHUSK_BROKERS", "k:1")
    warn_of_unknown_variables(Unlisted(), command)


def test_a_mistyped_variable_is_json_in_a_log_of_json() -> None:
    code = "from dehusk.streams.cli import main; main()"
    command = [sys.executable, "-c", code, "worker", "--log-json", "--brokers", "127.0.0.1:1"]
    environment = os.environ | {"DEHUSK_GRUOP": "g"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    line = orjson.loads(ended.stderr.splitlines()[0])
    assert (line["level"], line["message"]) == (
        "warning",
        "DEHUSK_GRUOP is ignored: no option has this variable; did you mean DEHUSK_GROUP?",
    )
