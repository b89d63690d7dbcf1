"""The environment variables of options, as the commands of dehusk have them."""

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable

import click
import orjson
import pytest
from click.testing import CliRunner

from dehusk.streams.cli import cli
from dehusk.streams.cli.environment import warn_of_unknown_variables
from dehusk.streams.cli.tree import DIFFERENT, leaves, options

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
    """What is said of an environment with these variables."""

    monkeypatch.setattr("dehusk.streams.cli.environment.are_json", lambda: False)

    def said(**variables: str) -> list[str]:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        warn_of_unknown_variables(cli)
        return capsys.readouterr().err.splitlines()

    return said


def test_a_mistyped_variable_is_named_with_the_nearest_one(warnings: Callable[..., list[str]]) -> None:
    assert warnings(DEHUSK_BROKRES="k:1", DEHUSK_CLEAN_PROCESES="1", DEHUSK_QQQQQQQQQQQQQQ="1") == [
        "dehusk: DEHUSK_BROKRES is ignored: no option has this variable; did you mean DEHUSK_BROKERS?",
        "dehusk: DEHUSK_CLEAN_PROCESES is ignored: no option has this variable; did you mean "
        "DEHUSK_CLEAN_PROCESSES?",
        "dehusk: DEHUSK_QQQQQQQQQQQQQQ is ignored: no option has this variable",
    ]


def test_the_variables_of_any_command_are_no_mistake(warnings: Callable[..., list[str]]) -> None:
    assert warnings(DEHUSK_BROKERS="k:1", DEHUSK_READ_TOPIC="t", DEHUSK_CONFIG="c") == []


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
