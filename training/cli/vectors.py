"""The vectors of words: vectors."""

from pathlib import Path

import click

from dehusk.inference.grf.word_vectors import VECTORS
from dehusk.training.cli.options import FILE, processes_option


@click.command("vectors")
@processes_option
@click.option("--words", type=click.IntRange(2), default=20000, show_default=True)
@click.option("--dimensions", type=click.IntRange(1), default=40, show_default=True)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=VECTORS,
    help="Where the vectors are written.  [inference/grf/word_vectors.npz]",
)
@click.argument("files", type=FILE, nargs=-1, required=True)
def vectors_command(
    processes: int, words: int, dimensions: int, output: Path, files: tuple[Path, ...]
) -> None:
    """Make vectors of the words on the pages in FILES, for --labeler grf-words; labels are not read.

    FILES are as for prepare. The words that stand on most pages are kept.
    """
    from dehusk.training.word_vectors import commands  # noqa: PLC0415 -- needs the training framework

    commands.make(files, output, words=words, dimensions=dimensions, processes=processes)
