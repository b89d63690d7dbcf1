"""The model card: what a version was made of, and what it scores."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from dehusk.schemas.pages import ModelVersion
from dehusk.training.web2text.network import kernel_weights
from dehusk.training.web2text.split import Split
from dehusk.training.web2text.trainer import Run

_TEMPLATE = Path(__file__).with_name("card.template.md")


def card(
    model: ModelVersion, runs: Mapping[str, Run], parts: Split, sources: Iterable[str], scores: str
) -> str:
    """The card in Markdown."""
    unary, pairwise = runs["unary"], runs["pairwise"]
    config = unary.config
    facts = asdict(config.data) | asdict(config.network) | asdict(config.trainer)
    facts |= {
        "model": model.name,
        "version": model.version,
        "sources": ", ".join(sources),
        "pages": len(parts.learned),
        "blocks": sum(len(page.content) for page in parts.learned),
        "validated": len(parts.validated),
        "held_out": len(parts.held_out),
        "held_out_share": 1000 * config.data.held_out,
        "validation_share": 1000 * (config.data.held_out + config.data.validation),
        "unary_weights": kernel_weights(unary.network),
        "pairwise_weights": kernel_weights(pairwise.network),
        "unary_iterations": unary.best_iterations,
        "pairwise_iterations": pairwise.best_iterations,
        "unary_error": unary.error,
        "pairwise_error": pairwise.error,
        "filters": ", ".join(map(str, config.network.filters)),
        "kernels": ", ".join(map(str, config.network.kernels)),
        "seeds": ", ".join(map(str, config.trainer.seeds)),
        "seed": unary.seed,
        "scores": scores,
    }
    return _TEMPLATE.read_text(encoding="utf-8").format_map(facts)
