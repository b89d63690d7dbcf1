"""What a site repeats: a page's probabilities, corrected by what was known of its site before it came.

`training/site_signal` makes the network whose weights are in `site_signal.json`.
"""

from dataclasses import asdict, dataclass
from functools import cache
from math import log1p
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import orjson

from dehusk.schemas.pages import Prediction, SiteStatistics

Floats = npt.NDArray[np.float32]

WEIGHTS = Path(__file__).with_suffix(".json")
INPUTS = ("logit", "log_pages", "text_share", "structure_share", "structure_logit")
"""The columns of `inputs`."""
MOST_PAGES = 30
"""The network learned from crawls of no more pages: later ones look like this one to it."""
_LEAST, _MOST = np.float32(1e-5), np.float32(1 - 1e-5)
"""Probabilities that are less, or more, are taken for these, so that their logits are finite."""
_OWN_BLOCKS = 0.5
"""So much does the block's own probability count beside those of each block that its structure had."""


@dataclass(frozen=True, slots=True, eq=False)
class SignalNetwork:
    """A network of one layer of H hyperbolic tangents: what is added to the logit of each block."""

    weights: Floats
    """Shape [len(INPUTS), H]."""
    biases: Floats
    """Shape [H]."""
    outputs: Floats
    """Shape [H]: none is negative, so that the signs of `weights` say which way an input can move a block."""
    offset: float

    def __call__(self, inputs: Floats) -> Floats:
        """What is added to the logits of T blocks, shape [T], given their `inputs`.

        The products are einsum's own: in BLAS, a second thread takes longer to wait for than it helps.
        """
        hidden = np.tanh(np.einsum("ti,ih->th", inputs, self.weights) + self.biases)
        added: Floats = np.einsum("th,h->t", hidden, self.outputs)
        return added + np.float32(self.offset)

    @classmethod
    def read(cls, file: Path) -> Self:
        """The network that `written` put into a file."""
        fields = orjson.loads(file.read_bytes())
        arrays = {name: np.array(fields[name], np.float32) for name in ("weights", "biases", "outputs")}
        return cls(**arrays, offset=fields["offset"])

    def written(self) -> bytes:
        """The network as JSON."""
        return orjson.dumps(asdict(self), option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)


def corrected(prediction: Prediction, statistics: SiteStatistics) -> Prediction:
    """A labeler's answer, its probabilities of content corrected; as it is where no page was counted.

    What repeats on a site is less likely to be content, and what stands where the site has its content more
    likely. The first page of a site gets the answer that it would have got alone.
    """
    if not statistics.pages:
        return prediction
    alone = prediction.probabilities
    found = corrected_by(_network(), alone, statistics)
    return Prediction(found, prediction.model, prediction.labeler, prediction.comments, uncorrected=alone)


def corrected_by(network: SignalNetwork, probabilities: Floats, statistics: SiteStatistics) -> Floats:
    """The probabilities of T blocks as a network corrects them, shape [T]."""
    columns = inputs(probabilities, statistics)
    found: Floats = 1 / (1 + np.exp(-columns[:, 0] - network(columns)))
    return found


def inputs(probabilities: Floats, statistics: SiteStatistics) -> Floats:
    """What the network reads of T blocks, shape [T, len(INPUTS)]."""
    counted = np.float32(statistics.pages + 1)
    blocks = statistics.structure_blocks.astype(np.float32)
    likely = blocks * statistics.structure_likely + np.float32(_OWN_BLOCKS) * probabilities
    logits = _logit(np.array((probabilities, likely / (blocks + np.float32(_OWN_BLOCKS)))))
    columns = np.empty((len(probabilities), len(INPUTS)), np.float32)
    columns[:, 0] = logits[0]
    columns[:, 1] = log1p(min(statistics.pages, MOST_PAGES))
    columns[:, 2] = statistics.texts / counted
    columns[:, 3] = statistics.structure_pages / counted
    columns[:, 4] = logits[1]
    return columns


def _logit(probabilities: Floats) -> Floats:
    clipped = np.minimum(np.maximum(probabilities, _LEAST), _MOST)
    logits: Floats = np.log(clipped / (1 - clipped))
    return logits


@cache
def _network() -> SignalNetwork:
    return SignalNetwork.read(WEIGHTS)
