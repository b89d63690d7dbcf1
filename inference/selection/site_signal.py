"""The signal of a site's repetitions: probabilities corrected by it, and samples of repeated texts.

`training/site_signal` makes the network whose weights are in `site_signal.json`.
"""

from dataclasses import asdict, dataclass, replace
from functools import cache
from math import log1p
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import orjson

from dehusk.inference.selection.selection import Bools, Choice
from dehusk.schemas.documents import TextSample
from dehusk.schemas.errors import require_encoding
from dehusk.schemas.pages import Encoding, Prediction, PreparedPage
from dehusk.schemas.sites import BlockFrequencies, SiteStatistics

Floats = npt.NDArray[np.float32]

WEIGHTS = Path(__file__).with_suffix(".json")
INPUTS = ("logit", "log_pages", "text_share", "structure_share", "structure_logit")
"""Columns of `inputs`."""
MAX_PAGES = 30
"""Largest number of pages that the network sees: it learned from crawls of no more."""
_MIN_PROBABILITY, _MAX_PROBABILITY = np.float32(1e-5), np.float32(1 - 1e-5)
"""Limits of probabilities, so that their logits are finite."""
_OWN_BLOCKS = 0.5
"""Weight of the block's own probability beside those of each block that its structure had."""

MAX_CHARACTERS = 200
"""Limit of a sample's length."""
MAX_CHANGED = 8
"""Limit of texts of one page that the statistics took out or put in; those on the most pages are sampled."""
MAX_REPEATED = 20
"""Limit of texts of one page that are on many pages; those on the most pages are taken."""
MIN_PAGES = 4
"""Counted pages, this one included, from which a text can be on many pages of a site."""
_MANY = 0.25
"""Share of all pages from which a text is on many."""


@dataclass(frozen=True, slots=True, eq=False)
class SignalNetwork:
    """Network of one layer of H hyperbolic tangents, for the correction of each block's logit."""

    weights: Floats
    """Shape [len(INPUTS), H]."""
    biases: Floats
    """Shape [H]."""
    outputs: Floats
    """Shape [H]: none is negative, so the signs of `weights` tell the direction of an input's effect."""
    offset: float

    def __call__(self, inputs: Floats) -> Floats:
        """Return the correction of the logits of T blocks, shape [T], given their `inputs`.

        The products are einsum's own: in BLAS, a second thread takes longer to wait for than it helps.
        """
        hidden = np.tanh(np.einsum("ti,ih->th", inputs, self.weights) + self.biases)
        added: Floats = np.einsum("th,h->t", hidden, self.outputs)
        return added + np.float32(self.offset)

    @classmethod
    def read(cls, file: Path) -> Self:
        """Return the network that `written` put into a file."""
        fields = orjson.loads(file.read_bytes())
        arrays = {name: np.array(fields[name], np.float32) for name in ("weights", "biases", "outputs")}
        return cls(**arrays, offset=fields["offset"])

    def written(self) -> bytes:
        """Return the network as JSON."""
        return orjson.dumps(asdict(self), option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)


def correct(prediction: Prediction, statistics: SiteStatistics) -> Prediction:
    """Return a labeler's answer with corrected probabilities; unchanged if no page was counted.

    A block that repeats on a site is less likely to be content, and one in a structure where the site has its
    content more likely. The first page of a site gets the answer that it would have got alone.
    """
    if not statistics.pages:
        return prediction
    alone = prediction.probabilities
    found = corrected_by(_network(), alone, statistics)
    return replace(prediction, probabilities=found, uncorrected=alone)


def corrected_by(network: SignalNetwork, probabilities: Floats, statistics: SiteStatistics) -> Floats:
    """Return the probabilities of T blocks as a network corrects them, shape [T]."""
    columns = inputs(probabilities, statistics)
    found: Floats = 1 / (1 + np.exp(-columns[:, 0] - network(columns)))
    return found


def inputs(probabilities: Floats, statistics: SiteStatistics) -> Floats:
    """Return the network's input for T blocks, shape [T, len(INPUTS)]."""
    counted = np.float32(statistics.pages + 1)
    blocks = statistics.structure_blocks.astype(np.float32)
    likely = blocks * statistics.structure_likely + np.float32(_OWN_BLOCKS) * probabilities
    logits = _logit(np.array((probabilities, likely / (blocks + np.float32(_OWN_BLOCKS)))))
    columns = np.empty((len(probabilities), len(INPUTS)), np.float32)
    columns[:, 0] = logits[0]
    columns[:, 1] = log1p(min(statistics.pages, MAX_PAGES))
    columns[:, 2] = statistics.texts / counted
    columns[:, 3] = statistics.structure_pages / counted
    columns[:, 4] = logits[1]
    return columns


def _logit(probabilities: Floats) -> Floats:
    clipped = np.minimum(np.maximum(probabilities, _MIN_PROBABILITY), _MAX_PROBABILITY)
    logits: Floats = np.log(clipped / (1 - clipped))
    return logits


@cache
def _network() -> SignalNetwork:
    return SignalNetwork.read(WEIGHTS)


def sample(page: PreparedPage, choice: Choice, frequencies: BlockFrequencies) -> tuple[TextSample, ...]:
    """Return the texts of a page that were dropped or saved, and at times those that are on many pages.

    Repetitions change slowly, so only the 4th, 8th, 16th … page of a site samples them.
    """
    counts = frequencies.counts
    keys = require_encoding(page.encoded.site_keys, Encoding.SITE_KEYS)
    blocks = _most_frequent(choice.dropped | choice.saved, counts)[:MAX_CHANGED]
    seen = frequencies.pages_seen
    if seen >= MIN_PAGES and seen.bit_count() == 1:
        on_many = (counts > 1) & (counts >= _MANY * seen) & (page.encoded.words > 0)
        blocks += _most_frequent(on_many, counts)[:MAX_REPEATED]
    of_text: dict[int, int] = {}
    for block in blocks:
        of_text.setdefault(int(keys.texts[block]), block)
    return tuple(_sample(page, choice, frequencies, *each) for each in of_text.items())


def _most_frequent(wanted: Bools, counts: npt.NDArray[np.uint32]) -> list[int]:
    (blocks,) = wanted.nonzero()
    order = (-counts[blocks].astype(np.int64)).argsort(kind="stable")
    ordered: list[int] = blocks[order].tolist()
    return ordered


def _sample(
    page: PreparedPage, choice: Choice, frequencies: BlockFrequencies, fingerprint: int, block: int
) -> TextSample:
    return TextSample(
        fingerprint,
        page.segmented.texts[block][:MAX_CHARACTERS],
        int(frequencies.counts[block]),
        dropped=bool(choice.dropped[block]),
        saved=bool(choice.saved[block]),
    )
