"""MkDocs' hook: the reference of commands, from the commands themselves."""

import html
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from dehusk.streams.cli import cli

ROOT = Path(__file__).parents[2]
MARK = "<!-- commands -->"
"""Place of the reference on its page."""
KEPT = "\b\n"
"""First line of a paragraph whose lines click keeps."""


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put the reference of commands where a page is marked for it."""
    return markdown.replace(MARK, "\n\n".join(_described(click.Context(cli, info_name="dehusk"), 2)))


def _described(context: click.Context, level: int) -> Iterator[str]:
    """Describe a command, then the commands of a group."""
    command = context.command
    yield f"{'#' * level} {context.command_path}"
    yield from _paragraphs(command.help)
    yield f"```\n{context.command_path} {' '.join(command.collect_usage_pieces(context))}\n```"
    options = [option for option in command.get_params(context) if isinstance(option, click.Option)]
    yield "\n".join(["| option | |", "| --- | --- |", *(_row(option, context) for option in options)])
    yield from _paragraphs(command.epilog)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _described(click.Context(below, info_name=name, parent=context), level + 1)


def _row(option: click.Option, context: click.Context) -> str:
    """Describe an option as a row of a table."""
    record, _ = option.get_help_record(context) or ("", "")
    names, _, choices = record.partition(" [")
    extra = option.get_help_extra(context)
    lines = [_text(option.help or "")]
    if choices:
        lines.append(f"One of {', '.join(f'`{choice}`' for choice in choices.rstrip(']').split('|'))}.")
    if default := extra.get("default"):
        lines.append(f"Default: `{default.replace(f'{ROOT}/', '')}`.")
    if "required" in extra:
        lines.append("Required.")
    if variables := extra.get("envvars"):
        lines.append(f"<small>{', '.join(f'`{name}`' for name in variables)}</small>")
    return f"| `{names}` | {'<br>'.join(lines)} |"


def _paragraphs(text: str | None) -> Iterator[str]:
    """Give the paragraphs of a help text; those whose lines are kept become code."""
    for paragraph in re.split(r"\n\n+", inspect.cleandoc(text or "")):
        if paragraph.startswith(KEPT):
            yield f"```\n{paragraph.removeprefix(KEPT)}\n```"
        elif paragraph:
            yield _text(paragraph)


def _text(words: str) -> str:
    """Give words as Markdown: options and variables as code, the rest as it is."""
    parts = re.split(r"(`[^`]*`)", " ".join(words.split()))
    marked = (
        re.sub(
            r"(?<![\w-])(--[a-z][a-z-]*\w|DEHUSK_\w+)",
            r"`\1`",
            html.escape(p, quote=False).replace("|", "&#124;"),
        )
        for p in parts[::2]
    )
    return "".join(text + code for text, code in zip(marked, [*parts[1::2], ""], strict=True))
