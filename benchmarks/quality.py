"""Agreement of texts with the content of pages where it is known, beside other extractors.

Word-level F1: the overlap of the kept text with `main_content`, as multisets of words, mean over pages.
"""

from collections.abc import Sequence
from statistics import fmean

from benchmarks.extractors import Extractor, with_dehusk, with_resiliparse, with_trafilatura
from benchmarks.pages import Page
from dehusk.training.scores import score_words, word_f1


def measure(pages: Sequence[Page], model: str) -> dict[str, list[float]]:
    """Return the F1 of each page by extractor."""
    gold = [score_words(page.content or "") for page in pages]
    extractors: dict[str, Extractor] = {
        f"dehusk ({model})": with_dehusk(model),
        "trafilatura": with_trafilatura,
        "resiliparse": with_resiliparse,
    }
    return {
        name: [word_f1(score_words(find(page.html)), words) for page, words in zip(pages, gold, strict=True)]
        for name, find in extractors.items()
    }


def report(title: str, pages: Sequence[Page], scores: dict[str, list[float]]) -> str:
    """Return the mean scores of all pages and of each type of page, as a table."""
    lines = [f"{title}: word-level F1", f"{'':16} pages " + " ".join(f"{name:>20}" for name in scores)]
    for kind in ("all", *sorted({page.kind for page in pages})):
        chosen = [index for index, page in enumerate(pages) if kind in ("all", page.kind)]
        means = [fmean(of_pages[index] for index in chosen) for of_pages in scores.values()]
        lines.append(f"{kind:16} {len(chosen):5} " + " ".join(f"{mean:20.3f}" for mean in means))
    return "\n".join(lines)
