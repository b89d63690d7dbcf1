import numpy as np
import pytest
import torch

from dehusk.inference.batching import WINDOW_BLOCKS
from dehusk.inference.encoding import encode
from dehusk.inference.segmentation import segment
from dehusk.training.boilernet.checkpoint import new_run
from dehusk.training.boilernet.config import DEFAULT_CONFIG, read_config
from dehusk.training.boilernet.examples import example
from dehusk.training.boilernet.model import network_predict
from dehusk.training.boilernet.pages import label
from dehusk.training.boilernet.vocabulary import Vocabulary
from dehusk.training.pages import GoldPage

pytestmark = pytest.mark.training

HTML = "<p>the mill<p>a wheel"


@pytest.fixture
def run():
    return new_run(read_config(DEFAULT_CONFIG), Vocabulary(("html", "body", "p"), ("mill", "wheel")), seed=1)


def test_a_page_is_answered_as_the_network_answers_it_when_it_learns(run):
    page = label(GoldPage("1", "mill.example", "article", HTML, "the mill"), 2 / 3)
    answered = network_predict(run)(encode(page.segmented))
    with torch.inference_mode():
        logits = run.network([example(page, run.vocabulary).blocks])
    assert answered.tolist() == torch.sigmoid(logits).tolist()


def test_a_page_longer_than_a_window_has_an_answer_for_each_block(run):
    page = encode(segment(HTML.encode() * (WINDOW_BLOCKS // 2 + 1)))
    answered = network_predict(run)(page)
    assert len(answered) == len(page) > WINDOW_BLOCKS
    assert np.isfinite(answered).all()
