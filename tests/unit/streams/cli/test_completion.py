import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from dehusk.streams.cli import cli


def asked(words: str) -> dict[str, str]:
    """The environment in which bash asks how the words go on."""
    typed = f"dehusk {words}"
    return {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" ")), "_DEHUSK_COMPLETE": "bash_complete"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("cle", {"plain,clean"}),
        ("clean --comm", {"plain,--comments"}),
        ("clean --comments ", {"plain,separate", "plain,include", "plain,drop"}),
        ("sites f", {"plain,forget"}),
        ("la", {"plain,label"}),
        ("label pages.jsonl --la", {"plain,--labels", "plain,--labeler"}),
    ],
)
def test_a_shell_completes_commands_options_and_values(words: str, said: set[str]) -> None:
    ended = CliRunner().invoke(cli, env=asked(words), prog_name="dehusk")
    assert set(ended.stdout.split()) == said


def test_the_installed_command_completes() -> None:
    run = "import sys; sys.argv = ['dehusk']; from dehusk.streams.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", run],
        env=os.environ | asked("cle"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.split() == ["plain,clean"]
