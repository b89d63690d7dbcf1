"""`dehusk demo`: clean a real site while it is crawled."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp

import click

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.shared.options import FOLDER, choice_option, json_option, number_option
from dehusk.streams.cli.shared.service_options import labeler_option
from dehusk.streams.cli.shared.terminal import plain_console
from dehusk.streams.demo.sites import NAMES, find_site
from dehusk.streams.folders import temporary_files, writing
from dehusk.streams.local.stack import default_cache
from dehusk.streams.wording import how_to_install

_COLUMNS = 160
"""Of an output that is no terminal: enough to read the page before and after side by side."""


@click.command(name="demo", epilog="Status 1 says that a page is unaccounted for.")
@choice_option(
    "--site",
    "site_name",
    values=NAMES,
    default="auto",
    help="The documentation to crawl, fetched as a Debian package without installing it; `shipped` is a "
    "handbook that comes with dehusk, which `auto` takes where Python's documentation cannot be had.",
)
@number_option("--pages", default=1000, help="At most so many pages.")
@labeler_option(
    default="triton",
    help="Labeler of the blocks; `onnx` needs no Triton, and all but these two no model.",
)
@click.option(
    "--directory",
    type=FOLDER,
    help="Folder of the documents and logs; by default a new temporary folder, which is "
    "removed if the demo is interrupted.",
)
@json_option("Print the summary as one line of JSON.")
def command(*, site_name: str, pages: int, labeler: str, directory: Path | None, as_json: bool) -> None:
    """Crawl a real site into Kafka and clean it while it is crawled.

    Starts Kafka, Redis and Triton on this machine, serves a documentation site on the loopback interface,
    crawls it with Scrapy and runs `dehusk worker` on the crawler's topic. It ends with what became of
    every page. Nothing keeps running.
    """
    from dehusk.streams.demo.run import DemoSettings, run_demo
    from dehusk.streams.demo.summary import Display, show

    if find_spec("scrapy") is None:
        raise ConfigurationError(f"Scrapy, which crawls, is not installed: {how_to_install('demo')}")
    console = plain_console(stderr=as_json)
    if not console.is_terminal:
        console.width = _COLUMNS
    with _results(directory) as folder, Display(console) as display:
        site = find_site(site_name, default_cache())
        if site.instead:
            display.milestone(site.instead)
        place = f", {site.directory}" if site.directory else ""
        display.milestone(f"the site to crawl: {site.name}{place}")
        summary = run_demo(DemoSettings(site, pages, labeler, folder), display)
    if as_json:
        click.echo(summary.to_json())
    else:
        show(summary, console)
    sys.exit(summary.unaccounted != 0)


def _results(directory: Path | None) -> AbstractContextManager[Path]:
    """Return the folder for the results, after a check that it can be written."""
    if directory is None:
        return _temporary_folder()
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=directory).close()
    return nullcontext(directory.resolve())


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Yield a folder that stays unless the demo is interrupted, or fails before it wrote anything."""
    parent = temporary_files()
    with writing(parent):
        folder = Path(mkdtemp(prefix="dehusk-demo-", dir=parent))
    try:
        yield folder
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or not any(folder.iterdir()):
            shutil.rmtree(folder)
        raise
