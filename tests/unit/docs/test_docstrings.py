"""Docstrings and help texts: a verb where something is done, a noun where something is."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from codegen.json_schemas import schemas
from dehusk.training.__main__ import cli as training
from tests.unit.docs.test_documentation import commands

ROOT = Path(__file__).parents[3]
FOLDERS = (
    "benchmarks",
    "codegen",
    "dehusk",
    "docs/hooks",
    "inference",
    "schemas",
    "streams",
    "tests",
    "training",
)
FILES = sorted(
    file.relative_to(ROOT)
    for folder in FOLDERS
    for file in (ROOT / folder).rglob("*.py")
    if not any(parent.is_symlink() for parent in file.parents)
)
QUESTIONS = re.compile(r"(What|Whether|How|Which|Where|Who|Whose|Why|When)\b")


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each docstring, also of those below attributes and constants."""
    for node in ast.walk(ast.parse(source)):
        for statement in getattr(node, "body", None) if isinstance(getattr(node, "body", None), list) else ():
            match statement:
                case ast.Expr(ast.Constant(str() as text)):
                    yield statement.lineno, text.strip()


def test_no_docstring_begins_with_a_question() -> None:
    found = [(file, *each) for file in FILES for each in docstrings((ROOT / file).read_text())]
    assert [f"{file}:{line}: {text}" for file, line, text in found if QUESTIONS.match(text)] == []


def test_docstrings_are_found() -> None:
    assert len(FILES) > 200
    assert [text for _, text in docstrings('"""A."""\nx = 1\n"""B."""\ndef f():\n    """C."""')] == [
        "A.",
        "B.",
        "C.",
    ]


def test_no_docstring_of_native_code_begins_with_a_question() -> None:
    sources = sorted((ROOT / "inference/native").glob("*.p[yx][xd]"))
    begun = re.compile(rf'^\s*"""({QUESTIONS.pattern}.*)', re.MULTILINE)
    assert len(sources) > 40
    assert [(file.name, text) for file in sources for text, _ in begun.findall(file.read_text())] == []


def descriptions(schema: Any) -> Iterator[str]:
    """Yield the descriptions in a JSON Schema."""
    for key, value in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if key == "description" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from descriptions(value)


@pytest.mark.parametrize("file", PUBLISHED := schemas())
def test_no_description_in_a_published_schema_begins_with_a_question(file: str) -> None:
    found = [*descriptions(json.loads(PUBLISHED[file]))]
    assert len(found) > 5
    assert [text for text in found if QUESTIONS.match(text)] == []


def test_no_help_text_of_an_option_begins_with_a_question() -> None:
    found = [
        (name, option.opts[0], option.help or "")
        for name, command in (*commands(), *commands(training))
        for option in command.params
        if isinstance(option, click.Option)
    ]
    assert len(found) > 300
    assert [each for each in found if QUESTIONS.match(each[2])] == []
