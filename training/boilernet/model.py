"""BoilerNet, trained, as what it answers to a page."""

import numpy as np
import numpy.typing as npt
import torch

from dehusk.inference.batching import Window, windows
from dehusk.inference.signature import BLOCK_LENGTHS, IDS, TOKENS
from dehusk.schemas.pages import EncodedPage
from dehusk.training.boilernet.checkpoint import Run
from dehusk.training.boilernet.network import Blocks
from dehusk.training.predictor import Predict


def network_predict(run: Run) -> Predict:
    """The network itself, in the training framework; it reads a page in the windows that labelers cut."""
    run.network.eval()

    def predict(page: EncodedPage) -> npt.NDArray[np.float32]:
        with torch.inference_mode():
            logits = [run.network([_blocks(run, window)]) for window in windows(page, TOKENS)]
            probabilities: npt.NDArray[np.float32] = torch.sigmoid(torch.cat(logits)).cpu().numpy()
        return probabilities

    return predict


def _blocks(run: Run, window: Window) -> Blocks:
    rows = run.vocabulary.rows(window.tensors[IDS.name])
    lengths = window.tensors[BLOCK_LENGTHS.name].astype(np.int64)
    return Blocks(torch.from_numpy(rows), torch.from_numpy(lengths))
