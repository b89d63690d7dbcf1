"""Options of documents in files of a folder, instead of on standard output."""

from pathlib import Path

import click

from dehusk.streams.cli.shared.options import (
    FOLDER,
    NumberRange,
    choice_option,
    gathered_options,
    refuse_typed,
)
from dehusk.streams.cli.shared.terminal import warn
from dehusk.streams.dataset.folder import DocumentFolder, FolderSettings
from dehusk.streams.dataset.parts import SUFFIXES
from dehusk.streams.settings import MIB, MOST_SECONDS
from dehusk.streams.wording import pluralize

LINES, TEXTS = "jsonl.zst", "wet"
_SUITING = {LINES: ("json", "datatrove", "dolma"), "parquet": ("json",), TEXTS: ("json",)}
"""Forms of pages that formats of files take."""
_DEFAULTS = FolderSettings(Path())


def _folder_settings(
    *, output_folder: Path | None, output_format: str, resume: bool, file_mib: float, file_seconds: float
) -> FolderSettings | None:
    if output_folder is not None:
        return FolderSettings(output_folder, output_format, resume, int(file_mib * MIB), file_seconds)
    refuse_typed("--output DIR", "output_format", "resume", "file_mib", "file_seconds")
    return None


output_options = gathered_options(
    "output",
    _folder_settings,
    click.option(
        "--output-folder",  # its name for variables and files, where `output` is the topic of workers
        "--output",
        type=FOLDER,
        metavar="DIR",
        help="Write files into this folder, and nothing to standard output. It is empty, or missing, or one "
        "to --resume.",
    ),
    choice_option(
        "--output-format",
        values=SUFFIXES,
        default=_DEFAULTS.format,
        help="Format of the files of --output: Parquet, with a column for each field of a document; lines of "
        "JSON, compressed by zstd; or WET, the texts in WARC records, as of Common Crawl.",
    ),
    click.option(
        "--resume",
        is_flag=True,
        help="Go on behind the last file that is complete in the folder of --output, with the same options; "
        "begin if there is none.",
    ),
    click.option(
        "--file-mib",
        type=NumberRange(min=0.001, max=MIB),
        default=_DEFAULTS.max_bytes // MIB,
        show_default=True,
        help="Complete a file of --output, and begin the next, when it has so many MiB.",
    ),
    click.option(
        "--file-seconds",
        type=NumberRange(min=0.1, max=MOST_SECONDS),
        default=_DEFAULTS.max_seconds,
        show_default=True,
        help="The same when a file is so old: what a run that is killed has done since, is done again.",
    ),
)
"""Options of files, which reach a command as `output: FolderSettings | None`."""


def report_resumption(folder: DocumentFolder) -> None:
    """Say on standard error if a run goes on with files that are there."""
    if folder.end is not None:
        warn(f"going on after {pluralize(folder.rows, 'page')} in {folder.path}")


def require_suiting(output: FolderSettings, document_format: str) -> None:
    """Check that pages have a form that the files take.

    Raises:
        click.UsageError: they do not.
    """
    suiting = _SUITING[output.format]
    if document_format not in suiting:
        raise click.UsageError(
            f"--output-format {output.format} takes --format {' or '.join(suiting)}, not {document_format}"
        )
