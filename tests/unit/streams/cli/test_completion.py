import os
import subprocess
import sys

import pytest


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
    typed = f"dehusk {words}"
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" ")), "_DEHUSK_COMPLETE": "bash_complete"}
    run = "import sys; sys.argv = ['dehusk']; from dehusk.streams.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", run], env=os.environ | asked, capture_output=True, text=True, check=False
    )
    assert set(ended.stdout.split()) == said
