"""The model card: what a version was made of, what it scores and what it costs."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from schemas.pages import ModelVersion
from training.checkpoint import Run
from training.evaluation import GroupScore, markdown
from training.pages import LabeledPage, held_out_pages, reliable, training_pages

_TEMPLATE = Path(__file__).with_name("card.template.md")


def card(
    model: ModelVersion,
    run: Run,
    pages: Sequence[LabeledPage],
    sources: Iterable[str],
    scores: Iterable[GroupScore],
) -> str:
    """The card in Markdown."""
    data, trained = run.config.data, training_pages(pages, run.config.data)
    facts = asdict(run.config.network) | asdict(run.config.trainer) | asdict(data)
    facts |= {
        "model": model.name,
        "version": model.version,
        "sources": ", ".join(sources),
        "pages": len(pages),
        "training_pages": len(trained),
        "training_blocks": sum(len(page.segmented) for page in trained),
        "held_out_pages": len(held_out_pages(pages, data)),
        "held_out": 1000 * data.held_out,
        "unreliable_pages": sum(not reliable(page, data) for page in pages),
        "weights": sum(each.numel() for each in run.network.parameters()),
        "epochs": run.epochs,
        "minutes": run.seconds / 60,
        "scores": markdown(scores),
    }
    return _TEMPLATE.read_text(encoding="utf-8").format_map(facts)
