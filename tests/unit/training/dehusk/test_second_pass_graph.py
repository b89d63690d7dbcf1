import numpy as np
import onnxruntime
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.signature import ALIKE, PROBABILITIES, Signature
from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.dehusk.first_pass import FirstAnswer, block_inputs
from dehusk.training.dehusk.second_pass import COLUMN_GROUPS, SecondPass, context_columns
from dehusk.training.dehusk.second_pass_graph import Blocks, second_logits
from dehusk.training.dehusk.token_scores import SCORES
from dehusk.training.graph import Graph

pytestmark = pytest.mark.training

PAGES = (
    b"<p>alone",
    b"<ul>"
    + b"<li class=card>one two three<li>four<li>five six" * 9
    + b"</ul><p>A paragraph that stands for itself.",
    b"<h1>Mill</h1>" + b"<div class=post><h2>Part</h2><p>Nobody counts the sacks.</p></div>" * 12,
    b"<p>one<p>two<h2>three</h2>",
)
SIGNATURE = Signature("test", (ALIKE,), (), ALIKE)


class Stumps:
    """Trees that together tell any two rows apart: each asks whether a column is above a number."""

    def __init__(self, columns):
        random = np.random.default_rng(1)
        self.above = [
            (column, float(number), random.normal())
            for column, values in enumerate(columns.T)
            for number in (np.unique(values)[:-1] + np.unique(values)[1:]) / 2
        ]

    def predict(self, columns, *, raw_score):
        return sum(weight * (columns[:, column] > number) for column, number, weight in self.above)

    def dump_model(self):
        return {"tree_info": [{"tree_structure": self.tree(*each)} for each in self.above]}

    @staticmethod
    def tree(column, number, weight):
        leaves = {"left_child": {"leaf_value": 0.0}, "right_child": {"leaf_value": weight}}
        return {"split_feature": column, "threshold": number, **leaves}


@pytest.fixture(scope="module")
def structures():
    return [encode(segment(html)).structure for html in PAGES]


@pytest.fixture(scope="module")
def answers(structures):
    random = np.random.default_rng(2)
    return [
        FirstAnswer(
            *(random.normal(size=size).astype(np.float32) for size in ((count, len(SCORES)), count, count, 7))
        )
        for count in (len(each.element) for each in structures)
    ]


@pytest.fixture(scope="module")
def second(structures, answers):
    columns = np.concatenate([context_columns(*each) for each in zip(structures, answers, strict=True)])
    return SecondPass(Stumps(columns), np.zeros(len(COLUMN_GROUPS), np.bool_))


def run(structures, answers, second):
    """Return the answers of the graph to the pages as one batch."""
    scores = [answer.scores for answer in answers]
    unscored = [block_inputs(page, of_page) for page, of_page in zip(structures, scores, strict=True)]
    features = np.rint(np.concatenate(unscored)[:, : -len(SCORES)] * 255)
    graph = Graph()
    counts = graph.constant([len(page.element) for page in structures])
    inputs = graph.constant(np.concatenate([features, np.concatenate(scores)], 1), np.float32)
    of_content, of_comments = (
        np.concatenate([getattr(answer, name) for answer in answers])
        for name in ("probabilities", "comments")
    )
    first = graph.constant(np.stack([of_content, of_comments], 1), np.float32)
    blocks = Blocks.of(graph, graph.parts(counts, graph.constant([len(features)])))
    found = second_logits(graph, blocks, inputs, first, second)
    graph.add("Reshape", found, graph.constant([-1]), output=PROBABILITIES.name)
    session = onnxruntime.InferenceSession(graph.model("test", SIGNATURE).SerializeToString())
    return session.run(None, {ALIKE.name: np.concatenate([page.alike for page in structures])})[0]


def test_trees_read_the_same_columns_in_the_graph_on_any_page_of_a_batch(structures, answers, second):
    expected = [second.logits(*each) for each in zip(structures, answers, strict=True)]
    assert run(structures, answers, second) == pytest.approx(np.concatenate(expected), abs=1e-3)
