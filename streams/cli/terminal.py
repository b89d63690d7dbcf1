"""Showing what strangers wrote, URLs and error texts, on a terminal."""

from rich.console import Console


def plain_console(*, stderr: bool = False) -> Console:
    """A console that takes nothing in a text for a command to it."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def printable(text: str) -> str:
    """The text with escapes for what a terminal would obey or could not show."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
