"""From labeled pages to a better version of a model: fine-tune, try-fine-tuning."""

from functools import partial
from pathlib import Path

import click

from dehusk.schemas.pages import ModelVersion
from dehusk.streams.models.names import split_name
from dehusk.training.cli.options import FILE, repository_option


@click.command("fine-tune")
@click.option("--labels", type=FILE, required=True, help="What `dehusk label` saved.")
@click.option(
    "--from",
    "base",
    metavar="NAME/VERSION",
    required=True,
    help="The version that is made better, as dehusk/7.",
)
@click.option("--version", type=click.IntRange(1), required=True, help="The new version's number.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Where the new version is written, as NAME/VERSION.",
)
@repository_option
@click.option(
    "--others",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Pages of other sites: it is told how many of their blocks are decided otherwise.",
)
@click.option("--base-url", default="", metavar="URL", help="The one that HTML files were labeled with.")
@click.option("--force", is_flag=True, help="Write the version even if it is not better.")
@click.argument("pages", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
def fine_tune_command(
    *,
    labels: Path,
    base: str,
    version: int,
    directory: Path,
    repository: Path,
    others: tuple[Path, ...],
    base_url: str,
    force: bool,
    pages: tuple[Path, ...],
) -> None:
    """Make a version of a model that is better on your crawl, from labels of some of its PAGES.

    PAGES are those that were labeled: JSON lines (id, url, html), HTML files, WARC, or directories of them.
    Ends with status 3, and writes nothing, where the version is not better on labeled pages not seen.
    """
    from dehusk.training.fine_tuning.commands import (  # noqa: PLC0415 -- needs scipy and onnx
        FineTuning,
        fine_tune,
    )

    named = ModelVersion(*split_name(base))
    fine_tune(FineTuning(labels, pages, named, version, directory, repository, others, base_url, force))


@click.command("try-fine-tuning")
@repository_option
@click.option("--from", "base", metavar="NAME/VERSION", required=True, help="One that saw none of the sites.")
@click.option("--pages", type=click.IntRange(10), default=20, show_default=True, help="Labeled pages.")
@click.option(
    "--sites",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Sites that they are of: each in turn, or so many random ones together.",
)
@click.argument("files", type=FILE, nargs=-1, required=True)
def try_fine_tuning_command(
    repository: Path, base: str, pages: int, sites: int, files: tuple[Path, ...]
) -> None:
    """Score fine-tuning on whole sites in FILES, and what it changes on all other pages in them.

    FILES have JSON lines, as for `prepare`; labels are made of the gold texts.
    """
    from dehusk.training.fine_tuning.trials import try_fine_tuning  # noqa: PLC0415 -- needs scipy

    named, say = ModelVersion(*split_name(base)), partial(click.echo, err=True)
    click.echo(try_fine_tuning(files, named, repository, pages, sites, say=say))
