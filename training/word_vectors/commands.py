"""From pages to word vectors, as `python -m training vectors` makes them."""

from collections.abc import Sequence
from pathlib import Path

import click

from dehusk.inference.grf.word_vectors import WordVectors
from dehusk.schemas.outcomes import Broken
from dehusk.training.directory import written_whole
from dehusk.training.pages import each_labeled, read_gold
from dehusk.training.word_vectors.counting import cooccurrences, each_text_once, vocabulary, words_of
from dehusk.training.word_vectors.factorizing import vectors

WINDOW = 5
"""How many words apart neighbours are at most."""


def make(files: Sequence[Path], output: Path, *, words: int, dimensions: int, processes: int) -> None:
    """Write the vectors of the words that stand on most pages of the files."""
    broken: list[Broken] = []
    pages = each_text_once(each_labeled(read_gold(files), words_of, processes, broken))
    tokens = vocabulary(pages, words)
    found = WordVectors(tokens, vectors(cooccurrences(pages, tokens, WINDOW), dimensions))
    with written_whole(output) as target:
        found.write(target)
    for page in broken:
        click.echo(f"left out a page of {page.url}: {page.detail}", err=True)
    click.echo(f"{output}: {len(tokens)} words of {len(pages)} pages, {output.stat().st_size:,} bytes")
