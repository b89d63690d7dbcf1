"""The reference of commands on the website."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import click
import pytest

from tests.unit.docs.test_documentation import OPTIONS

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """MkDocs loads it by its path, too."""
    spec = importlib.util.spec_from_file_location("commands", ROOT / "docs/hooks/commands.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_every_command_with_its_options(hook: ModuleType) -> None:
    page = (ROOT / "docs/reference/commands.md").read_text()
    reference = hook.on_page_markdown(page)
    parts = re.split(r"^#+ dehusk ", reference, flags=re.MULTILINE)[1:]
    sections = {part.partition("\n")[0]: part for part in parts}
    assert {name for name in OPTIONS if name not in sections} == set()
    for name, options in OPTIONS.items():
        named = {option for option in options if option.startswith("-")}
        assert {option for option in named if option not in sections[name]} == set()


def test_nothing_of_this_machine_is_in_the_reference(hook: ModuleType) -> None:
    reference = hook.on_page_markdown(hook.MARK)
    assert str(ROOT) not in reference
    assert "UNSET" not in reference
    assert " object at 0x" not in reference


def test_an_option_is_a_row_with_choices_default_and_variables(hook: ModuleType) -> None:
    option = click.Option(
        ["--colour"],
        type=click.Choice(["red", "blue"]),
        default="red",
        show_default=True,
        help="A | b; see --size.",
    )
    row = hook._row(option, click.Context(click.Command("paint")))
    assert row == "| `--colour` | A &#124; b; see `--size`.<br>One of `red`, `blue`.<br>Default: `red`. |"
