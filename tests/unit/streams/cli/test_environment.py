"""The environment variables of options, as the commands of dehusk have them."""

from collections import defaultdict

import click
import pytest
from click.testing import CliRunner

from streams.cli import cli
from streams.cli.tree import DIFFERENT, leaves, options

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
