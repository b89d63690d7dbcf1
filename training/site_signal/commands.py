"""The steps from whole sites to what a worker corrects with, as `python -m training signal` runs them."""

from collections.abc import Sequence
from pathlib import Path

import click

from dehusk.inference.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import EncodedPage, ModelVersion
from dehusk.training.dehusk.config import DehuskConfig, read_config
from dehusk.training.dehusk.crossvalidation import held_out_models
from dehusk.training.dehusk.pages import prepared_pages
from dehusk.training.dehusk.parts import by_site
from dehusk.training.directory import written_whole
from dehusk.training.predictor import labeler_answer
from dehusk.training.site_signal import evaluation
from dehusk.training.site_signal.crawls import crawls
from dehusk.training.site_signal.fitting import SignalSettings, fit
from dehusk.training.site_signal.pages import Answer, Floats, Origin, SitePage, prepare_site_pages, site_pages

FOLDS = 8
"""Parts of the sites; those of one are scored by a network that learned from the others."""


def prepare(
    files: Sequence[Path],
    directory: Path,
    config: Path,
    *,
    also: Sequence[ModelVersion],
    repository: Path,
    processes: int,
) -> None:
    """Answer the pages of whole sites by the run's models that never saw the site, and by published ones."""
    settings = read_config(config)
    answers = [_by_held_out(directory, settings), *(_by_published(each, repository) for each in also)]
    for broken in prepare_site_pages(files, directory, settings.content_share, answers, processes):
        click.echo(f"left out a page of {broken.url}: {broken.detail}", err=True)
    sites = site_pages(directory)
    pages = [page for of_site in sites.values() for page in of_site]
    with_gold = sum(page.gold is not None for page in pages)
    click.echo(f"{len(sites)} sites, {len(pages)} pages, {with_gold} with gold.")


def fit_network(directory: Path, output: Path) -> None:
    """Fit the network to crawls of all sites, and write it."""
    settings = SignalSettings()
    network = fit(crawls(_sites(directory), settings.orders), settings)
    with written_whole(output) as target:
        target.write(network.written())
    click.echo(f"{output}: {network.outputs.size} hidden units, {output.stat().st_size:,} bytes")


def evaluate(directory: Path, orders: int) -> None:
    """Score networks on crawls of sites that they did not learn from."""
    sites, settings = _sites(directory), SignalSettings()
    models = range(len(next(iter(sites.values()))[0].answers))
    scores = [evaluation.Crawled() for _ in models]
    for part in evaluation.folds_of(sites, FOLDS):
        others = {site: pages for site, pages in sites.items() if site not in part}
        ways = evaluation.ways(fit(crawls(others, settings.orders), settings))
        for visit in crawls({site: sites[site] for site in part}, orders, seed=1):
            scores[visit.model].add(visit, ways)
        click.echo(f"scored {', '.join(part)}", err=True)
    for model, crawled in zip(models, scores, strict=True):
        tables = "\n\n".join(
            show(crawled) for show in (evaluation.by_pages, evaluation.by_kind, evaluation.by_site)
        )
        click.echo(f"Model {model + 1}\n\n{tables}\n")


def _sites(directory: Path) -> dict[str, list[SitePage]]:
    """The prepared pages.

    Raises:
        ConfigurationError: there are fewer than two sites.
    """
    sites = site_pages(directory)
    if len(sites) < 2:
        raise ConfigurationError("the files have no two sites of three pages")
    return sites


def _by_held_out(directory: Path, config: DehuskConfig) -> Answer:
    """The models of a run, of which each page asks the one that never saw its site."""
    part_of = by_site(config.trainer.folds)
    models = dict(
        held_out_models(
            prepared_pages(directory),
            config,
            config.trainer.seed,
            part_of,
            progress=lambda text: click.echo(text, err=True),
            checkpoints=directory,
        )
    )

    def answer(page: EncodedPage, origin: Origin) -> Floats:
        assert page.structure is not None  # noqa: S101 -- pages of HTML are encoded whole
        return models[part_of(origin)](page.structure)

    return answer


def _by_published(model: ModelVersion, repository: Path) -> Answer:
    answer = labeler_answer(OnnxLabeler(model.name, model.version, repository))
    return lambda page, _: answer(page)
