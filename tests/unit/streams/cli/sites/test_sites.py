"""`dehusk sites`: what is wrong with a command line, and a Redis that is not there."""

import pytest
from click.testing import CliRunner

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.cli import cli
from dehusk.streams.local.folder import LOOPBACK, free_ports

COMMANDS = [
    ["list"],
    ["list", "--json"],
    ["show", "a.test"],
    ["forget", "a.test"],
    ["forget", "--all", "--yes"],
]
COMMANDS += [["export"], ["export", "a.test"]]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_redis_that_is_not_there_is_said(words: list[str]) -> None:
    redis = f"redis://{LOOPBACK}:{free_ports(1)[0]}/0"
    result = CliRunner().invoke(cli, ["sites", *words, "--redis", redis])
    assert isinstance(result.exception, UnavailableError)
    assert "Redis does not answer" in str(result.exception)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["forget"], "name the sites, or give --all"),
        (["forget", "a.test", "--all"], "name the sites, or give --all"),
        (["list", "--sort", "age"], "'age' is not one of"),
        (["list", "--redis", "localhost:6379"], "must be a URL that begins with redis://"),
        (["show"], "Missing argument"),
        (["import", "no-such-file"], "No such file"),
    ],
)
def test_what_is_wrong_with_a_command_line_is_said(words: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, ["sites", *words])
    assert result.exit_code == 2
    assert said in result.stderr
