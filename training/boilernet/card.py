"""The model card: what a version was made of, what it scores and what it costs."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from dehusk.schemas.pages import ModelVersion
from dehusk.training.boilernet.checkpoint import Run
from dehusk.training.boilernet.pages import LabeledPage, held_out_pages, reliable, training_pages

_TEMPLATE = Path(__file__).with_name("card.template.md")
_BLOCKS_TEMPLATE = Path(__file__).with_name("card.blocks.md")
_FRAMEWORKS = {"keras": "Keras", "torch": "PyTorch"}


def card(
    model: ModelVersion,
    run: Run,
    pages: Sequence[LabeledPage],
    sources: Iterable[str],
    scores: str,
) -> str:
    """The card in Markdown, of pages with gold texts or of labeled blocks."""
    data, trained = run.config.data, training_pages(pages, run.config.data)
    held_out = held_out_pages(pages, data)
    facts = asdict(run.config.network) | asdict(run.config.trainer)
    facts |= {
        "model": model.name,
        "version": model.version,
        "sources": ", ".join(sources),
        "pages": len(pages),
        "training_pages": len(trained),
        "training_blocks": sum(len(page.segmented) for page in trained),
        "held_out_pages": len(held_out),
        "held_out_blocks": sum(len(page.segmented) for page in held_out),
        "weights": sum(each.numel() for each in run.network.parameters()),
        "epochs": run.epochs,
        "minutes": run.seconds / 60,
        "lengths": "similar" if run.config.trainer.by_length else "any",
        "schedule": "falls to zero" if run.config.trainer.decay else "stays",
        "unknown": "each" if run.config.network.separate_unknown else "in common",
        "read": "counts as words" if run.config.network.punctuation else "is not read",
        "weighed": "both classes" if run.config.trainer.class_weights else "all blocks",
        "framework": _FRAMEWORKS[run.config.network.first_weights],
        "kept": _kept(run),
        "seeds": _seeds(run),
        "scores": scores,
    }
    if data is None:
        return _BLOCKS_TEMPLATE.read_text(encoding="utf-8").format_map(facts)
    facts |= asdict(data) | {
        "held_out": 1000 * data.held_out,
        "unreliable_pages": sum(not reliable(page, data) for page in pages),
    }
    return _TEMPLATE.read_text(encoding="utf-8").format_map(facts)


def _seeds(run: Run) -> str:
    seeds = run.config.trainer.seeds
    if len(seeds) == 1:
        return f"Seed {run.seed}."
    named = ", ".join(map(str, seeds))
    return f"Seeds {named}; this is seed {run.seed}, whose F1 is the median, averaged over both classes."


def _kept(run: Run) -> str:
    if run.best is None:
        return "The weights are those of the last epoch: none was chosen by its score."
    return f"The weights are those of epoch {run.best.epochs}, the best on the held-out pages."
