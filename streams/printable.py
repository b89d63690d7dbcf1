"""Texts that strangers wrote, made fit for terminals and logs."""


def printable(text: str) -> str:
    """The text with escapes for what a terminal would obey or could not show."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
