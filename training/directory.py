"""The directory of a run: what one command leaves there for the next."""

from pathlib import Path

from schemas.errors import ConfigurationError


def left_by(command: str, file: Path) -> Path:
    """The file, which a command writes.

    Raises:
        ConfigurationError: it is not there.
    """
    if not file.exists():
        raise ConfigurationError(f"there is no {file}; run `python -m training {command}` first")
    return file
