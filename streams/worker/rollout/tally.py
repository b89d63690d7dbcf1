"""What a worker has seen of the versions that label its pages, since the roll-out was last changed."""

from collections.abc import Iterable, Sequence

from dehusk.inference.selection import Bools, select
from dehusk.schemas.comparison import Figures, bucket_of
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction

Answers = Sequence[Prediction | Broken | None]


class Tally:
    """Figures by version."""

    def __init__(self) -> None:
        self.figures: dict[str, Figures] = {}

    def note(self, version: str, figures: Figures) -> None:
        """Count a call."""
        self.figures[version] = self.of(version) + figures

    def of(self, version: str) -> Figures:
        """The figures of a version."""
        return self.figures.get(version, Figures())

    def restart(self, kept: Iterable[str]) -> None:
        """Begin anew, but for some versions."""
        self.figures = {version: self.figures[version] for version in kept if version in self.figures}


def kept_blocks(page: EncodedPage, labels: Prediction) -> Bools:
    """Which blocks a version keeps by its own probabilities, before the correction by the site, shape [T]."""
    return select(labels.probabilities, page.words, page.repeat, labels.comments, page.alike)


def figures_of(
    pages: Sequence[EncodedPage], answers: Answers, seconds: float, *, errors: int = 0, rejected: int = 0
) -> Figures:
    """The figures of a call that took so long; of what it did not label, so much is its own fault."""
    pairs = zip(pages, answers, strict=True)
    labeled = [(page, answer) for page, answer in pairs if isinstance(answer, Prediction)]
    words = sum(int(page.words.sum()) for page, _ in labeled)
    kept = sum(int(page.words[kept_blocks(page, labels)].sum()) for page, labels in labeled)
    return Figures(len(labeled) + errors + rejected, errors, rejected, words, kept, {bucket_of(seconds): 1})
