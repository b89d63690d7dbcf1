"""The default model as an ONNX graph: token scores, a dense layer, the LSTM, the page as a whole."""

import numpy as np
import onnx
from onnx import TensorProto

from dehusk.inference.encoding.features import ADDRESS_FEATURES, BLOCK_FEATURES, LINK_FEATURES, PAGE_FEATURES
from dehusk.inference.labelers import signature
from dehusk.inference.labelers.signature import (
    BLOCK_COUNTS,
    COMMENTS,
    ELEMENT,
    ELEMENT_COUNTS,
    ELEMENT_TOKEN_COUNTS,
    ELEMENT_TOKEN_LENGTHS,
    ELEMENT_TOKENS,
    FEATURES,
    HEADING,
    PAGE_KIND,
    PARENT,
    PROBABILITIES,
    STRUCTURE_WITH_LINKS,
    WORD_COUNTS,
    WORD_LENGTHS,
    WORDS,
    Tensor,
)
from dehusk.training.arrays import Floats
from dehusk.training.dehusk.first_pass import (
    BEYOND_STATES,
    INPUTS,
    MAX_INPUT,
    OF_PAGE,
    OUTPUTS,
    SCORE_SCALE,
    SHORT,
    FirstPass,
    PageLabeler,
)
from dehusk.training.dehusk.model import DehuskModel
from dehusk.training.dehusk.second_pass_graph import Blocks, Inputs, second_logits
from dehusk.training.dehusk.token_scores import (
    ELEMENT_BUCKETS,
    HEADING_WORDS,
    LEVELS,
    MAX_SCORE,
    SCORES,
    WORD_BUCKETS,
    Regression,
    TokenScores,
)
from dehusk.training.graph import Graph, Parts, Value
from dehusk.training.learning import layer_weights

_POOL = 16
"""Number of blocks over which the largest states are taken at first."""


def build_dehusk(model: DehuskModel) -> onnx.ModelProto:
    """Build the model as a checked ONNX model that declares its signature."""
    graph = Graph()
    parts = graph.parts(graph.integers(BLOCK_COUNTS.name), graph.add("Shape", WORD_LENGTHS.name))
    blocks = Blocks.of(graph, parts)
    elements = graph.parts(graph.integers(ELEMENT_COUNTS.name), graph.add("Shape", PARENT.name))
    words_wrong, lengths = _lengths(graph, WORD_LENGTHS, blocks, WORD_COUNTS)
    tokens_wrong, token_lengths = _lengths(graph, ELEMENT_TOKEN_LENGTHS, elements, ELEMENT_TOKEN_COUNTS)
    of_words = _word_totals(graph, blocks, lengths, model.first.token_scores.words)
    of_elements = _element_totals(graph, blocks, elements, token_lengths, model.first.token_scores)
    scores = _scores(graph, of_words, of_elements, model.first.token_scores)
    inputs = _inputs(graph, scores)
    first_logits, kind_logits = _first_logits(graph, blocks, inputs, model.first)
    first = graph.add("Sigmoid", first_logits)
    asked, of_trees = second_logits(graph, blocks, inputs, first, model.second)
    logits, _ = graph.split(first_logits, 1, OUTPUTS - 1)
    _, comments = graph.split(first, 1, OUTPUTS - 1)
    of_network, of_trees = (
        each * graph.constant(share, np.float32)
        for each, share in (
            (graph.add("Gather", logits, asked), 1 - model.trees_share),
            (of_trees, model.trees_share),
        )
    )
    thought_twice = graph.add("ScatterND", logits, graph.upright(asked), of_network + of_trees)
    both = thought_twice + graph.constant(model.offset, np.float32)
    rejected = graph.at(graph.add("Or", words_wrong, tokens_wrong), blocks.page)
    for tensor, probabilities in ((PROBABILITIES, graph.add("Sigmoid", both)), (COMMENTS, comments)):
        flat = graph.add("Reshape", probabilities, graph.constant([-1]))
        graph.add("Where", rejected, graph.constant(np.nan, np.float32), flat, output=tensor.name)
    graph.add("Softmax", kind_logits, axis=1, output=PAGE_KIND.name)
    return graph.model("dehusk", STRUCTURE_WITH_LINKS)


def _lengths(graph: Graph, lengths: Tensor, owner: Parts, counts: Tensor) -> tuple[Value, Value]:
    """Return where a page's lengths contradict its tokens, and lengths that do not."""
    return graph.reconciled(graph.integers(lengths.name), owner, graph.integers(counts.name))


def _word_totals(graph: Graph, blocks: Parts, lengths: Value, regression: Regression) -> tuple[Value, Value]:
    """Return the weight and number of each block's words and its heading's first words, [blocks, 1].

    The words of a block are a run of all words: its sum is a difference of sums, which float64 keeps exact.
    """
    table = graph.weight("words_table", regression.weights.T.ravel())
    place = _buckets(graph, WORDS.name, WORD_BUCKETS) * 2
    as_own, as_heading = (_upto(graph, graph.at(table, each)) for each in (place, place + 1))
    after = graph.add("CumSum", lengths, graph.constant(0))
    first = after - lengths
    heading = graph.pointed_to(HEADING.name, blocks, blocks)
    start, read = (
        graph.at(graph.with_none(each), heading)
        for each in (first, graph.add("Min", lengths, graph.constant(HEADING_WORDS)))
    )
    own = graph.between(as_own, first, after)
    under = graph.between(as_heading, start, start + read)
    totals = own + under, lengths + read
    total, count = (graph.upright(graph.floats(each)) for each in totals)
    return total, count


def _upto(graph: Graph, numbers: Value) -> Value:
    """Return the sum of the numbers before each, and of all: float64."""
    sums = graph.add("CumSum", graph.doubles(numbers), graph.constant(0))
    return graph.add("Concat", graph.constant([0], np.float64), sums, axis=0)


def _element_totals(
    graph: Graph, blocks: Parts, elements: Parts, token_lengths: Value, of_tokens: TokenScores
) -> tuple[Value, Value]:
    """Return the weights and the number of the tokens around each block, by each regression: [blocks, 2].

    What is summed over an element and so many above it, added to that of its next ancestor, is summed over
    twice as many: 2, 4, and from 3 times 4 ANCESTORS. The tokens of LEVELS count twice.
    """
    own = _element_sums(graph, elements, token_lengths, of_tokens)
    parent = graph.with_none(graph.pointed_to(PARENT.name, elements, elements))
    second = graph.at(parent, parent)
    fourth = graph.at(second, second)
    as_even, as_odd = graph.split(own, 8, 8)
    of_two = as_even + graph.add("Gather", as_odd, parent)
    any_level, inner, _ = graph.split(of_two, 4, 2, 2)
    any_level_above, _, outer = graph.split(graph.add("Gather", of_two, second), 4, 2, 2)
    of_four = any_level + any_level_above
    element = graph.pointed_to(ELEMENT.name, elements, blocks)
    above_four = graph.at(fourth, element)
    rows = element, above_four, graph.at(fourth, above_four)
    nearest, *others = (graph.add("Gather", of_four, each) for each in rows)
    tokens_twice = nearest * graph.constant([1, 1, 2, 2], np.float32)
    of_any, counts = graph.split(graph.add("Sum", tokens_twice, *others), 2, 2)
    of_level = graph.add("Gather", inner + outer, element)
    return of_any + of_level, counts


def _element_sums(graph: Graph, elements: Parts, token_lengths: Value, of_tokens: TokenScores) -> Value:
    """Return the sums of the rows of each element's tokens, after a row of zeros: [1 + elements, 16]."""
    table = graph.weight("elements_table", _element_table(of_tokens))
    rows = graph.add("Gather", table, _buckets(graph, ELEMENT_TOKENS.name, ELEMENT_BUCKETS))
    owner = graph.owners(graph.starts(token_lengths), graph.add("Shape", ELEMENT_TOKENS.name))
    after_none, total = (each + graph.constant([1]) for each in (owner, elements.total))
    return graph.summed(rows, after_none, total, width=16, dtype=np.float32)


def _element_table(of_tokens: TokenScores) -> Floats:
    """Return what a token adds to the sums over its element and its parent: a cache line, [buckets, 16].

    A row has what it adds as a token of an even level, then as one of an odd level: its weights at any level
    by both regressions, twice its number (one), and its weights at the first and at the second such level.
    """
    content, comments = of_tokens.elements.weights, of_tokens.comments.weights
    one = np.ones(content.shape[1], np.float32)
    levels = [[content[1 + level], comments[1 + level]] for level in range(LEVELS)]
    any_level = [content[0], comments[0], one, one]
    return np.stack([*any_level, *levels[0], *levels[2], *any_level, *levels[1], *levels[3]], 1)


def _scores(
    graph: Graph, of_words: tuple[Value, Value], of_elements: tuple[Value, Value], of_tokens: TokenScores
) -> Value:
    """Return the clipped scores of each block, shape [blocks, SCORES]."""
    totals, counts = (graph.add("Concat", *each, axis=1) for each in zip(of_words, of_elements, strict=True))
    root = graph.add("Sqrt", graph.add("Max", counts, graph.constant(1, np.float32)))
    biases = [each.bias for each in (of_tokens.words, of_tokens.elements, of_tokens.comments)]
    score = totals / root + graph.constant(biases, np.float32)
    return graph.clipped(score, -MAX_SCORE, MAX_SCORE)


def _inputs(graph: Graph, scores: Value) -> Inputs:
    """Return the features of each block, its link and its page, up to 255, and its scores."""
    of_block = graph.rows(FEATURES.name, len(BLOCK_FEATURES))
    of_link = graph.rows(signature.LINKS.name, len(LINK_FEATURES))
    of_page = graph.rows(signature.PAGE_FEATURES.name, len(PAGE_FEATURES))
    of_address = graph.rows(signature.ADDRESS.name, len(ADDRESS_FEATURES))
    return Inputs(
        block=graph.add("Concat", of_block, of_link, scores, axis=1),
        page=graph.add("Concat", of_page, of_address, axis=1),
    )


def _first_logits(graph: Graph, blocks: Blocks, inputs: Inputs, first: FirstPass) -> tuple[Value, Value]:
    """Return the network's logits of each block, [blocks, OUTPUTS], and of each page, [pages, kinds]."""
    dense = _dense(graph, blocks, inputs, first)
    steps, step, sizes = _steps(graph, blocks, inputs.block)
    width = first.network.dense.out_features
    totals = graph.summed(dense, step, steps.total, width=width, dtype=np.float32)
    means = totals / graph.upright(graph.floats(sizes))
    where = graph.places(steps)
    layer = layer_weights(first.network.layer)
    counts = graph.add("Cast", steps.counts, to=TensorProto.INT32)
    states = graph.lstm(graph.padded(where, means), layer, "lstm", counts)
    of_state, of_dense, of_page = _output_weights(graph, first.network, 2 * layer.hidden)
    bias = graph.weight("output_bias", first.network.output.bias.detach().cpu().numpy())
    pooled = _pooled(graph, steps, states, 2 * layer.hidden)
    by_page = graph.add("Gemm", pooled, of_page, bias)
    by_place = graph.add("MatMul", states, of_state) + by_page
    of_steps = graph.at_places(where, by_place, OUTPUTS)
    of_blocks = graph.add("Gemm", dense, of_dense, graph.add("Gather", of_steps, step))
    return of_blocks, graph.add("Gemm", pooled, *_kind_weights(graph, first.network))


def _steps(graph: Graph, blocks: Blocks, inputs: Value) -> tuple[Parts, Value, Value]:
    """Return the steps of `first_pass.steps_of`, the step of each block, and the blocks of each step."""
    is_short = graph.add("LessOrEqual", graph.columns(inputs, 0, 1), graph.constant(SHORT, np.float32))
    short = graph.add("Reshape", is_short, graph.constant([-1]))
    one_and_next = [(graph.part(each, 0, -1), graph.part(each, 1)) for each in (short, blocks.alike)]
    both_short, alike = (
        graph.add(how, *each) for how, each in zip(("And", "Equal"), one_and_next, strict=True)
    )
    apart = graph.add("Not", graph.add("And", both_short, alike))
    begins = graph.add("Concat", graph.constant([True], np.bool_), apart, axis=0)
    step = graph.add("CumSum", graph.integers(begins), graph.constant(0)) - 1
    first_block = graph.add("Reshape", graph.add("NonZero", begins), graph.constant([-1]))
    first = graph.at(step, blocks.first)
    after = graph.at(step, blocks.after - 1) + 1
    total = graph.add("Shape", first_block)
    steps = Parts(after - first, first, after, total, graph.at(blocks.page, first_block))
    next_step = graph.add("Concat", graph.part(first_block, 1), blocks.total, axis=0)
    return steps, step, next_step - first_block


def _output_weights(graph: Graph, network: PageLabeler, states: int) -> list[Value]:
    """Return the output layer's weights of a block's states, of its dense layer, and of its page."""
    weights = network.output.weight.detach().cpu().numpy().T
    of_each = np.split(weights, np.cumsum([states, network.dense.out_features]))
    names = "output_states", "output_dense", "output_page"
    return [graph.weight(name, values) for name, values in zip(names, of_each, strict=True)]


def _kind_weights(graph: Graph, network: PageLabeler) -> tuple[Value, Value]:
    """Return the weights and biases of the kinds of a page."""
    layer = network.page_type
    weights = graph.weight("kind_weights", layer.weight.detach().cpu().numpy().T)
    return weights, graph.weight("kind_bias", layer.bias.detach().cpu().numpy())


def _dense(graph: Graph, blocks: Blocks, inputs: Inputs, first: FirstPass) -> Value:
    """Add the dense layer over the standardised inputs, shape [blocks, dense].

    What it makes of the inputs of a page is computed once for all of its blocks.
    """
    bias = graph.weight("dense_bias", first.network.dense.bias.detach().cpu().numpy())
    page, block = slice(len(OF_PAGE)), slice(len(OF_PAGE), INPUTS)
    by_page = _weighed(graph, inputs.page, page, first, bias)
    dense = _weighed(graph, inputs.block, block, first, graph.add("Gather", by_page, blocks.page))
    return graph.add("Relu", dense)


def _weighed(graph: Graph, values: Value, inputs: slice, first: FirstPass, bias: Value) -> Value:
    """Standardise the values of some inputs, weigh them by the dense layer, and add a bias."""
    scale = np.full(INPUTS, 1 / 255, np.float32)
    scale[-len(SCORES) :] = SCORE_SCALE
    mean, deviation = first.standard.mean[inputs], first.standard.deviation[inputs]
    factors = graph.constant(scale[inputs] / deviation, np.float32)
    scaled = values * factors + graph.constant(-mean / deviation, np.float32)
    clipped = graph.clipped(scaled, -MAX_INPUT, MAX_INPUT)
    weights = first.network.dense.weight.detach().cpu().numpy().T[inputs]
    return graph.add("Gemm", clipped, graph.constant(weights, np.float32), bias)


def _pooled(graph: Graph, steps: Parts, states: Value, width: int) -> Value:
    """Return the mean and the largest of each page's states, shape [pages, 2 × width]."""
    place = graph.upright(graph.numbers(graph.add("ReduceMax", steps.counts, keepdims=1)))
    outside = graph.floats(graph.add("GreaterOrEqual", place, steps.counts))
    beyond = outside * graph.constant(BEYOND_STATES, np.float32)
    lowered = states - graph.add("Unsqueeze", beyond, graph.constant([2]))
    largest = graph.add("Reshape", _largest(graph, lowered), graph.constant([-1, width]))
    count = graph.upright(graph.floats(steps.counts))
    mean = graph.add("ReduceSum", states, graph.constant([0]), keepdims=0) / count
    return graph.add("Concat", mean, largest, axis=1)


def _largest(graph: Graph, states: Value) -> Value:
    """Return the largest over the first axis: first of _POOL at a time, which is several times as fast."""
    image = graph.add("Unsqueeze", graph.add("Flatten", states, axis=1), graph.constant([0, 1]))
    pooled = graph.add("MaxPool", image, kernel_shape=[_POOL, 1], strides=[_POOL, 1], ceil_mode=1)
    return graph.add("ReduceMax", pooled, graph.constant([2]), keepdims=0)


def _buckets(graph: Graph, ids: str, buckets: int) -> Value:
    """Return the buckets of hashed tokens, of which there is a power of two."""
    return graph.integers(graph.add("BitwiseAnd", ids, graph.constant(buckets - 1, np.uint32)))
