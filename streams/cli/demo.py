"""`dehusk demo`: the main job on a real site, from crawl to cleaned documents."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp

import click
from rich.console import Console

from dehusk.inference.labelers import LABELERS
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.demo.display import Display
from dehusk.streams.demo.sites import NAMES, find_site
from dehusk.streams.installation import how_to_install
from dehusk.streams.local.folder import writing
from dehusk.streams.local.stack import default_cache

_COLUMNS = 160
"""Of an output that is no terminal: enough to read the page before and after side by side."""


@click.command(name="demo", epilog="Status 1 says that a page is unaccounted for.")
@click.option(
    "--site",
    "site_name",
    type=click.Choice(NAMES),
    default="auto",
    show_default=True,
    help="The documentation to crawl, fetched as a Debian package without installing it; `shipped` is a "
    "handbook that comes with dehusk, which `auto` takes where Python's documentation cannot be had.",
)
@click.option(
    "--pages", type=click.IntRange(min=1), default=1000, show_default=True, help="At most so many pages."
)
@click.option(
    "--labeler",
    type=click.Choice(LABELERS),
    default="triton",
    show_default=True,
    help="What labels the blocks; `onnx` needs no Triton, and all but these two no model.",
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the documents and logs are written; by default a new temporary folder, which is "
    "removed if the demo is interrupted.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one line of JSON.")
def command(*, site_name: str, pages: int, labeler: str, directory: Path | None, as_json: bool) -> None:
    """Crawl a real site into Kafka and clean it while it is crawled.

    Starts Kafka, Redis and Triton on this machine, serves a documentation site on the loopback interface,
    crawls it with Scrapy and runs `dehusk worker` on the crawler's topic. It ends with what became of
    every page. Nothing keeps running.
    """
    from dehusk.streams.demo.run import DemoSettings, run_demo
    from dehusk.streams.demo.summary import show

    if find_spec("scrapy") is None:
        raise ConfigurationError(f"Scrapy, which crawls, is not installed: {how_to_install('demo')}")
    console = Console(stderr=as_json, highlight=False)
    if not console.is_terminal:
        console.width = _COLUMNS
    with _results(directory) as folder, Display(console) as display:
        site = find_site(site_name, default_cache())
        if site.instead:
            display.milestone(site.instead)
        display.milestone(f"the site to crawl: {site.name}, {site.directory}")
        summary = run_demo(DemoSettings(site, pages, labeler, folder), display)
    if as_json:
        click.echo(summary.to_json())
    else:
        show(summary, console)
    sys.exit(summary.unaccounted != 0)


def _results(directory: Path | None) -> AbstractContextManager[Path]:
    """The folder for the results, which can be written."""
    if directory is None:
        return _temporary_folder()
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=directory).close()
    return nullcontext(directory.resolve())


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder that stays, unless the demo is interrupted or fails before it wrote anything."""
    with writing(Path("a temporary folder")):
        folder = Path(mkdtemp(prefix="dehusk-demo-"))
    try:
        yield folder
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or not any(folder.iterdir()):
            shutil.rmtree(folder)
        raise
