"""`dehusk label`: pages whose blocks a person labels, in a browser."""

from __future__ import annotations

import asyncio
import webbrowser
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.shared.kafka_options import kafka_options, optional_topic_option
from dehusk.streams.cli.shared.options import (
    FILE,
    gathered_options,
    host_and_port,
    local_page_options,
    refuse_typed,
)
from dehusk.streams.cli.shared.page_options import base_url_option, page_limit_options, source_options
from dehusk.streams.cli.shared.service_options import labeler_options
from dehusk.streams.cli.shared.terminal import warn
from dehusk.streams.wording import pluralize
from dehusk.streams.worker_settings import WorkerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from dehusk.streams.labeling.fine_tuning import FineTuner
    from dehusk.streams.labeling.labels_file import LabelsFile
    from dehusk.streams.labeling.session import Session
    from dehusk.streams.labeling.store import PageStore

_UNSURE_PAGES = 100
"""Pages that are offered of an unsure topic by default."""


@dataclass(frozen=True, slots=True)
class _Request:
    """Options that name the pages, the labels and the server."""

    paths: Sequence[Path]
    unsure: bool
    unsure_topic: str | None
    base_url: str
    limit: int | None
    labels: Path
    training: Path | None
    listen: str
    opens: bool


@click.command(
    name="label",
    epilog="""\b
Examples:
  dehusk label pages.jsonl --open                  40 pages of your crawl, say
  dehusk label crawl.warc.gz --limit 100 --labels news.jsonl
  dehusk label page.html --labeler rules
  dehusk label --unsure --unsure-topic unsure --brokers kafka-1:9092

\b
What the labels are for:
  python -m training fine-tune --labels labels.jsonl …
  python -m training prepare --labels labels.jsonl …""",
)
@click.argument(
    "paths",
    nargs=-1,
    metavar="[PAGES…]",
    type=click.Path(allow_dash=True, path_type=Path),
)
@click.option(
    "--labels",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    default=Path("labels.jsonl"),
    show_default=True,
    help="File of the labels, as JSON lines; those that are there go on, those of other pages stay.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Offer the first N pages; by default all, or with --unsure {_UNSURE_PAGES}.",
)
@click.option(
    "--unsure",
    is_flag=True,
    help="Take the pages of --unsure-topic in place of PAGES: those of the lowest expected_f1 first.",
)
@optional_topic_option(
    "--unsure-topic", help="With --unsure: the topic that workers write with their option of this name."
)
@kafka_options
@source_options
@labeler_options(
    when=" at first, as a suggestion",
    repository_help="The models that run in this process; those that come with dehusk by default.",
)
@base_url_option
@page_limit_options("is refused")
@click.option(
    "--training",
    type=FILE,
    metavar="PYTHON",
    show_default=".venv-training/bin/python of the checkout, if it is there",
    help="Interpreter of the training environment, with which the page offers to fine-tune the model on the "
    "labels.",
)
@local_page_options(
    "Address of the tool; port 0 is any free one. Whoever reaches it can label, and have models fine-tuned."
)
@gathered_options("settings", WorkerSettings)
@gathered_options("request", _Request)
def command(*, request: _Request, settings: WorkerSettings) -> None:
    """Label the blocks of pages as content or boilerplate, on a local web page.

    PAGES are files of HTML, JSON lines {"id","url","html"} or WARC, plain or compressed, or - for standard
    input. With --unsure, they are those of which workers were least sure, as far as Kafka still holds them,
    which is read in no group. Each is shown as a reader sees it, with an outline around each block, beside
    the list of all its blocks. The labeler suggests a label for every block; a click or a stroke of the brush
    corrects it, and spreads to blocks that are alike. What is right already is accepted with a single key:
    ? lists the keys.

    Every label is saved at once. A page is done when all of its blocks are labeled; then training can learn
    from it, and fine-tuning is a button where the training environment is found. Ctrl-C ends the tool, and
    the same command goes on where it ended.

    Nothing of a page runs or is loaded.
    """
    _check_options(request)
    with suppress(KeyboardInterrupt):
        _label(request, settings)


def _check_options(request: _Request) -> None:
    """Check that the options go together.

    Raises:
        click.UsageError: they do not.
    """
    if request.unsure == bool(request.paths):
        raise click.UsageError("name the PAGES, or --unsure and no PAGES")
    if request.unsure and request.unsure_topic is None:
        raise click.UsageError("--unsure needs --unsure-topic: the one that workers write")
    if not request.unsure:
        refuse_typed("--unsure", "unsure_topic", "brokers", "source")


def _label(request: _Request, settings: WorkerSettings) -> None:
    from dehusk.streams.labeling.labels_file import open_labels_file

    with _open_pages(request, settings) as store, open_labels_file(request.labels) as file:
        _report(file, store)
        asyncio.run(_serve(request, settings, store, file))


@contextmanager
def _open_pages(request: _Request, settings: WorkerSettings) -> Iterator[PageStore]:
    from dehusk.streams.files.readers import read_pages
    from dehusk.streams.labeling.store import open_empty_store, open_store

    if request.unsure_topic is not None and request.unsure:
        with open_empty_store() as store:
            asyncio.run(_add_unsure(store, request.unsure_topic, request.limit or _UNSURE_PAGES, settings))
            yield store
    else:
        directory = settings.source_settings.warc_directory
        outcomes = read_pages(
            request.paths, settings.page.max_bytes, request.base_url, warc_directory=directory
        )
        with open_store(outcomes, request.limit) as store:
            yield store


async def _add_unsure(store: PageStore, topic: str, limit: int, settings: WorkerSettings) -> None:
    """Add the pages of a topic that workers were least sure of, and report how many are gone.

    Raises:
        ConfigurationError: there is none.
    """
    from dehusk.streams.inspection.inspection import open_inspector_pool
    from dehusk.streams.labeling.unsure import UnsurePages
    from dehusk.streams.sources.registry import open_registry

    async with open_inspector_pool(settings) as pool:
        unsure = UnsurePages(settings.kafka, topic, pool, open_registry(settings.source_settings))
        async with aclosing(unsure.read()) as pages:
            async for page in pages:
                store.add(page)
                if len(store.entries) == limit:
                    break
    if unsure.gone:
        warn(f"{pluralize(unsure.gone, 'page')} of {topic} left out: Kafka holds no such message")
    if not store.entries:
        raise ConfigurationError(f"{topic} has no pages to label")


def _report(file: LabelsFile, store: PageStore) -> None:
    """Report on standard error a torn line, and labels of other pages."""
    if file.set_aside is not None:
        warn(f"the last line of {file.path} was torn, as by a crash; it is kept in {file.set_aside}")
    others = len(file.labels.keys() - {entry.id for entry in store.entries})
    if others:
        warn(f"{file.path} has labels of {pluralize(others, 'page')} not among these; they stay")


async def _serve(request: _Request, settings: WorkerSettings, store: PageStore, file: LabelsFile) -> None:
    from dehusk.streams.inspection.inspection import open_inspector_pool
    from dehusk.streams.labelers import open_labeler
    from dehusk.streams.labeling.server import application
    from dehusk.streams.labeling.session import Session
    from dehusk.streams.web.local_pages import serving

    host, port = host_and_port(request.listen)
    labeler = await asyncio.to_thread(open_labeler, settings)
    try:
        async with open_inspector_pool(settings) as pool:
            session = Session(store, file, pool, labeler)
            async with (
                _tuner(request, settings, session, store, file) as tuner,
                serving(application(session, host, tuner), host, port) as address,
            ):
                click.echo(f"{address}  ({session.progress}; Ctrl-C ends it)")
                if request.opens:
                    webbrowser.open(address)
                await asyncio.Event().wait()
    finally:
        await labeler.close()


@asynccontextmanager
async def _tuner(
    request: _Request, settings: WorkerSettings, session: Session, store: PageStore, file: LabelsFile
) -> AsyncIterator[FineTuner | None]:
    """Open what fine-tunes; None without a training environment."""
    from dehusk.streams.labeling.fine_tuning import CHECKOUT_PYTHON, FineTuner, Training

    python = request.training or CHECKOUT_PYTHON
    if not python.exists():
        yield None
        return
    labels, model = request.labels, settings.triton
    folder = labels.with_name(f"{labels.stem}-fine-tuned")
    training = Training(python, settings.model_repository, model.model, model.version, folder)
    async with aclosing(FineTuner(training, session, store, file)) as tuner:
        yield tuner
