"""Formats of files by their names; what one needs is loaded only for it."""

from dehusk.streams.dataset.parts import FileFormat


def file_format(name: str) -> FileFormat:
    """Return a format of `SUFFIXES` by its name.

    Raises:
        ModuleNotFoundError: it needs an extra that is not installed.
    """
    match name:
        case "parquet":
            from dehusk.streams.dataset.parquet import PARQUET  # noqa: PLC0415

            return PARQUET
        case "wet":
            from dehusk.streams.dataset.wet import WET  # noqa: PLC0415

            return WET
        case _:
            from dehusk.streams.dataset.lines import LINES  # noqa: PLC0415

            return LINES
