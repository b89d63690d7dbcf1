"""The steps from whole sites to a worker's correction by them, as `python -m training signal` runs them."""

from collections.abc import Sequence
from pathlib import Path

import click

from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.dehusk.config import DehuskConfig
from dehusk.training.dehusk.examples import name_of_part
from dehusk.training.dehusk.model import Training
from dehusk.training.pages.prepared import prepared_pages
from dehusk.training.runs import Preparation, report, report_broken, written_whole
from dehusk.training.site_signal import evaluation
from dehusk.training.site_signal.crawls import Answer, SitePage, crawls, prepare_site_pages, site_pages
from dehusk.training.site_signal.fitting import SignalSettings, fit
from dehusk.training.versions import labeler_answer

FOLDS = 8
"""Parts of the sites; those of one are scored by a network that learned from the others."""


def prepare(options: Preparation, *, also: Sequence[ModelVersion], repository: Path) -> None:
    """Answer the pages of whole sites by the run's models that never saw the site, and by published ones."""
    settings, directory = DehuskConfig.read(options.config), options.directory
    answers = [_by_held_out(directory, settings), *(_by_published(each, repository) for each in also)]
    report_broken(
        prepare_site_pages(options.files, directory, settings.data.content_share, answers, options.processes)
    )
    sites = _sites(directory)
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
    scores: list[list[evaluation.ScoredVisit]] = [[] for _ in models]
    for part in evaluation.folds_of(sites, FOLDS):
        others = {site: pages for site, pages in sites.items() if site not in part}
        ways = evaluation.ways(fit(crawls(others, settings.orders), settings))
        for visit in crawls({site: sites[site] for site in part}, orders, seed=1):
            scores[visit.model].append(evaluation.score(visit, ways))
        report(f"scored {', '.join(part)}")
    for model, crawled in zip(models, scores, strict=True):
        tables = "\n\n".join(
            show(crawled) for show in (evaluation.by_pages, evaluation.by_kind, evaluation.by_site)
        )
        click.echo(f"Model {model + 1}\n\n{tables}\n")


def _sites(directory: Path) -> dict[str, list[SitePage]]:
    """Return the prepared pages by site.

    Raises:
        ConfigurationError: there are fewer than two sites.
    """
    sites = site_pages(directory)
    if len(sites) < 2:
        raise ConfigurationError("the files have no two sites of three pages")
    return sites


def _by_held_out(directory: Path, config: DehuskConfig) -> Answer:
    """Return the answers of a run's models, for each page of the one that never saw its site."""
    training = Training(config, config.trainer.seed, checkpoints=directory)
    models = dict(training.models_by_site(prepared_pages(directory, config)))
    return lambda page, site: models[name_of_part(site, config.trainer.folds)].answer(page)


def _by_published(model: ModelVersion, repository: Path) -> Answer:
    answer = labeler_answer(OnnxLabeler(model.name, model.version, repository))
    return lambda page, _: answer(page)
