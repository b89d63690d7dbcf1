"""What corrects labels by what a site repeats: the commands of signal."""

from pathlib import Path

import click

from dehusk.inference.site_signal import WEIGHTS
from dehusk.schemas.pages import ModelVersion
from dehusk.streams.models.names import split_name
from dehusk.training.cli.options import (
    FILE,
    OrderOfUse,
    config_option,
    directory_option,
    processes_option,
    repository_option,
)


@click.group("signal", cls=OrderOfUse)
def signal_group() -> None:
    """Fit what corrects a page's labels by what its site repeats: prepare, fit, evaluate."""


@signal_group.command("prepare")
@directory_option
@config_option
@processes_option
@repository_option
@click.option(
    "--also",
    multiple=True,
    metavar="NAME/VERSION",
    help="Learn from the answers of this model, too, which never saw the sites.",
)
@click.argument("files", type=FILE, nargs=-1, required=True)
def signal_prepare_command(
    *,
    directory: Path,
    config: Path,
    processes: int,
    repository: Path,
    also: tuple[str, ...],
    files: tuple[Path, ...],
) -> None:
    """Answer the pages of whole sites in FILES by models that never saw the site, those of a trained run.

    FILES have xz JSON lines: id, url, site, html, main_content (or null, as of index pages).
    """
    from dehusk.training.site_signal import commands  # noqa: PLC0415 -- needs the training framework

    published = [ModelVersion(*split_name(each)) for each in also]
    commands.prepare(files, directory, config, also=published, repository=repository, processes=processes)


@signal_group.command("fit")
@directory_option
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=WEIGHTS,
    help="Where the weights are written.  [inference/site_signal.json]",
)
def signal_fit_command(directory: Path, output: Path) -> None:
    """Fit the network to random crawls of all prepared sites."""
    from dehusk.training.site_signal import commands  # noqa: PLC0415 -- needs the training framework

    commands.fit_network(directory, output)


@signal_group.command("evaluate")
@directory_option
@click.option("--orders", type=click.IntRange(1), default=8, show_default=True, help="Crawls of each site.")
def signal_evaluate_command(directory: Path, orders: int) -> None:
    """Score networks on crawls of sites that they did not learn from, beside simple rules."""
    from dehusk.training.site_signal import commands  # noqa: PLC0415 -- needs the training framework

    commands.evaluate(directory, orders)
