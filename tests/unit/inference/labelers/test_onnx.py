import asyncio
import threading

import numpy as np
import onnxruntime
import pytest

from dehusk.inference.labelers import onnx_runtime
from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.golden import GOLDEN_FILE, parse_golden
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.inference.labelers.signature import STRUCTURE, TOKENS
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import ModelVersion
from tests.encoded import page_of, random_page, with_tokens
from tests.unit.streams.models import graphs

_, NEWEST = find_model(DEFAULT_REPOSITORY, "boilernet")
GOLDEN = parse_golden(NEWEST.with_name(GOLDEN_FILE).read_bytes())


@pytest.fixture(scope="module")
def labeler():
    return OnnxLabeler("boilernet")


def page(blocks, seed=0):
    """A page of the tokens of a golden page."""
    return random_page(GOLDEN[0].page.tokens.ids, blocks, seed)


async def probabilities(labeler, *pages):
    return [answer.probabilities for answer in await labeler.label(pages)]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
async def test_the_model_answers_as_the_training_framework_did(labeler, golden):
    (answer,) = await labeler.label([golden.page])
    assert np.abs(answer.probabilities - golden.probabilities).max() < 1e-5
    assert answer.model == ModelVersion("boilernet", NEWEST.parent.name)
    assert answer.labeler == "onnx"


async def test_an_answer_does_not_depend_on_other_pages_of_the_batch(labeler):
    pages = [page(blocks, seed) for seed, blocks in enumerate((40, 41, 1, 39, 300, 2, 38))]
    together = await probabilities(labeler, *pages)
    alone = [(await probabilities(labeler, each))[0] for each in pages]
    for one, other in zip(together, alone, strict=True):
        assert np.abs(one - other).max() < 1e-6


async def test_the_answer_depends_on_the_words_and_their_neighbours(labeler):
    whole = page(60)
    changed = with_tokens(whole, ids=whole.tokens.ids.copy())
    changed.tokens.ids[: int(whole.tokens.block_lengths[0])] = GOLDEN[0].page.tokens.ids[-1]
    first, second = await probabilities(labeler, whole, changed)
    assert np.abs(first - second)[1:10].max() > 1e-4


async def test_a_page_without_blocks_gets_empty_labels(labeler):
    before, empty, after = await probabilities(labeler, page(5), page(0), page(7))
    assert (len(before), len(empty), len(after)) == (5, 0, 7)
    assert await labeler.label([]) == []


async def test_a_page_of_very_many_blocks_is_labeled_in_windows(labeler):
    whole = page(WINDOW_BLOCKS + 50)
    lengths = whole.tokens.block_lengths
    rest = page_of(whole.tokens.ids[lengths[:WINDOW_BLOCKS].sum() :], lengths[WINDOW_BLOCKS:])
    long, short = await probabilities(labeler, whole, rest)
    assert len(long) == len(whole)
    assert np.abs(long[WINDOW_BLOCKS:] - short).max() < 1e-6


@pytest.mark.parametrize("shown", [slice(None, -1), slice(0, 0), slice(1, None)])
async def test_a_page_whose_lengths_contradict_its_ids_is_rejected_and_its_batch_mates_are_not(
    labeler, shown
):
    good, bad = page(20), page(20, seed=1)
    bad = with_tokens(bad, ids=bad.tokens.ids[shown])
    alone = (await probabilities(labeler, good))[0]
    first, rejected, second = await labeler.label([good, bad, good])
    assert isinstance(rejected, Broken)
    assert rejected.reason is BrokenReason.REJECTED_BY_MODEL
    assert np.abs(first.probabilities - alone).max() < 1e-6
    assert np.abs(second.probabilities - alone).max() < 1e-6


async def test_the_event_loop_runs_while_the_model_does(labeler):
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await labeler.label([page(500)])
    ticking.cancel()
    assert ticks > 10


def test_a_model_that_is_not_there_is_a_configuration_error(tmp_path):
    with pytest.raises(ConfigurationError, match="no model 'boilernet'"):
        OnnxLabeler("boilernet", repository=tmp_path)


def test_a_file_that_is_no_model_is_a_configuration_error(tmp_path):
    file = tmp_path / "boilernet" / "1" / "model.onnx"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"garbage")
    with pytest.raises(ConfigurationError, match="cannot load"):
        OnnxLabeler("boilernet", repository=tmp_path)


def test_a_model_of_another_signature_is_a_configuration_error(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_runtime, "signature_of", lambda _: None)
    with pytest.raises(ConfigurationError, match="tokens 2 crc32"):
        OnnxLabeler("boilernet")


@pytest.mark.parametrize(
    "content", [graphs.always(0.5, less=1), graphs.always(0.5, signature=STRUCTURE, declared=TOKENS.declared)]
)
def test_a_model_of_other_tensors_than_it_declares_is_a_configuration_error(tmp_path, content):
    graphs.write_version(tmp_path / "m" / "1", content)
    with pytest.raises(ConfigurationError, match=r"'tokens 2 crc32; .* and has other tensors: .*prob FP32"):
        OnnxLabeler("m", repository=tmp_path)


async def test_a_page_that_onnx_runtime_does_not_take_is_no_bug(labeler):
    wrong = with_tokens(page(5), ids=np.zeros(len(page(5).tokens.ids), np.float64))
    with pytest.raises(UnavailableError, match="ONNX Runtime cannot run the model: "):
        await labeler.label([wrong])


async def test_a_model_that_fails_is_heard_from_the_labeler_alone(tmp_path, capfd):
    shape = graphs.tensor("shape", [1], graphs.INT64)
    graphs.write_version(
        tmp_path / "m" / "1", graphs.model([graphs.node("Reshape", ["zeros", "shape"], "prob")], [shape])
    )
    with pytest.raises(UnavailableError, match="running Reshape node"):
        await OnnxLabeler("m", repository=tmp_path).label([page(5)])
    assert capfd.readouterr().err == ""


def test_a_model_runs_in_one_thread_and_keeps_no_memory_pattern(monkeypatch):
    seen = []
    session = onnxruntime.InferenceSession
    monkeypatch.setattr(
        onnxruntime,
        "InferenceSession",
        lambda file, options, providers: seen.append(options) or session(file, options, providers=providers),
    )
    OnnxLabeler("boilernet")
    assert seen[0].intra_op_num_threads == 1
    assert not seen[0].enable_mem_pattern


async def test_a_page_is_labeled_in_the_calling_thread_as_it_is_beside_it(labeler):
    for blocks in (0, 40, WINDOW_BLOCKS + 50):
        (beside,) = await probabilities(labeler, page(blocks))
        assert labeler.label_here(page(blocks)).probabilities.tolist() == beside.tolist()


async def test_calls_that_were_given_up_take_a_thread_of_the_labeler_alone(monkeypatch):
    slow, running, end = OnnxLabeler("boilernet"), [], threading.Event()

    def take_turn(_numbered):
        running.append(True)
        end.wait(60)
        return []

    monkeypatch.setattr(slow, "_take_turn", take_turn)
    try:
        for _ in range(40):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(slow.label([page(3)]), 0.005)
        assert len(await asyncio.wait_for(OnnxLabeler("boilernet").label([page(3)]), 30)) == 1
        assert await asyncio.wait_for(asyncio.to_thread(len, running), 30) == 1
    finally:
        end.set()
        await slow.close()
