from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.signature import ALIKE, PROBABILITIES, Signature, Tensor
from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.dehusk.first_pass import OF_PAGE, FirstAnswer, columns_of
from dehusk.training.dehusk.second_pass import COLUMN_GROUPS, SecondPass, context_columns, is_asked
from dehusk.training.dehusk.second_pass_graph import Blocks, Inputs, second_logits
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
ASKED = Tensor("asked", "FP32")
SIGNATURE = Signature("test", (ALIKE,), (), ALIKE, (ASKED, PROBABILITIES))


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
            *(
                random.normal(scale=scale, size=size).astype(np.float32)
                for scale, size in ((1, (count, len(SCORES))), (4, count), (1, count), (1, 7))
            )
        )
        for count in (len(each.element) for each in structures)
    ]


@pytest.fixture(scope="module")
def second(structures, answers):
    columns = np.concatenate([context_columns(*each) for each in zip(structures, answers, strict=True)])
    return SecondPass(Stumps(columns), np.zeros(len(COLUMN_GROUPS), np.bool_))


def run(structures, answers, second):
    """Return the blocks of the pages that the trees are asked about in one batch, and their logits."""
    features = [columns_of(page).astype(np.float32) for page in structures]
    of_pages = np.stack([columns[0, : len(OF_PAGE)] for columns in features])
    of_blocks = np.concatenate([columns[:, len(OF_PAGE) :] for columns in features])
    scores = np.concatenate([answer.scores for answer in answers])
    graph = Graph()
    counts = graph.constant([len(page.element) for page in structures])
    inputs = Inputs(
        graph.constant(np.concatenate([of_blocks, scores], 1), np.float32),
        graph.constant(of_pages, np.float32),
    )
    of_content, of_comments = (
        np.concatenate([getattr(answer, name) for answer in answers])
        for name in ("probabilities", "comments")
    )
    first = graph.constant(np.stack([of_content, of_comments], 1), np.float32)
    blocks = Blocks.of(graph, graph.parts(counts, graph.constant([len(of_blocks)])))
    asked, logits = second_logits(graph, blocks, inputs, first, second)
    graph.add("Reshape", graph.floats(asked), graph.constant([-1]), output=ASKED.name)
    graph.add("Reshape", logits, graph.constant([-1]), output=PROBABILITIES.name)
    session = onnxruntime.InferenceSession(graph.model("test", SIGNATURE).SerializeToString())
    return session.run(None, {ALIKE.name: np.concatenate([page.alike for page in structures])})


def test_trees_read_the_same_columns_in_the_graph_on_any_page_of_a_batch(structures, answers, second):
    expected = [second.logits(*each) for each in zip(structures, answers, strict=True)]
    asked, logits = run(structures, answers, second)
    assert asked.tolist() == np.flatnonzero(np.concatenate([*map(is_asked, answers)])).tolist()
    assert 0 < len(asked) < sum(len(page.element) for page in structures)
    assert logits == pytest.approx(np.concatenate(expected), abs=1e-3)


def test_trees_are_asked_about_no_block_of_a_page_that_the_network_is_sure_of(structures, answers, second):
    sure = [replace(answer, logits=np.full_like(answer.logits, 9)) for answer in answers]
    assert [each.size for each in run(structures, sure, second)] == [0, 0]
    assert second.logits(structures[0], sure[0]).size == 0
