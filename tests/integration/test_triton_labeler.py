"""The labeler on the real Triton: the shared one, and one of its own that is swapped and stopped."""

import asyncio
import re
import shutil
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from tritonclient.grpc.aio import InferenceServerClient

from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.golden import GOLDEN_FILE, parse_golden
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.inference.labelers.signature import STRUCTURE_WITH_COMMENTS, STRUCTURE_WITH_PAGE_KIND
from dehusk.inference.labelers.triton import TritonLabeler
from dehusk.schemas.errors import ConfigurationError, NotEncodedError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Encoding, ModelVersion, Prediction
from dehusk.streams.settings import MIB
from tests.encoded import random_page, whole_page, with_tokens
from tests.integration.conftest import Stack
from tests.unit.streams.models import graphs

NEWEST = {
    model: find_model(DEFAULT_REPOSITORY, model)[1].parent for model in ("boilernet", "dehusk", "web2text")
}
GOLDEN = {model: parse_golden((version / GOLDEN_FILE).read_bytes()) for model, version in NEWEST.items()}
PAGES = [golden.page for golden in GOLDEN["dehusk"]]
KNOWN = np.concatenate([each.tokens.ids for each in PAGES])


def page(blocks, seed=0):
    """A page of the tokens of golden pages."""
    return random_page(KNOWN, blocks, seed)


def inferences(stack):
    """Return the counts of Triton: requests, and executions of the model."""
    with urllib.request.urlopen(stack.triton_metrics) as response:
        metrics = response.read().decode()
    return tuple(
        sum(float(value) for value in re.findall(rf"^{name}{{.*}} (\S+)$", metrics, re.MULTILINE))
        for name in ("nv_inference_count", "nv_inference_exec_count")
    )


@pytest.fixture
async def labeler(stack):
    labeler = TritonLabeler(stack.addresses.triton_grpc, "boilernet")
    yield labeler
    await labeler.close()


@pytest.mark.parametrize("model", GOLDEN)
async def test_triton_answers_as_the_training_framework_did(stack, model):
    labeler = TritonLabeler(stack.addresses.triton_grpc, model)
    answers = await labeler.label([golden.page for golden in GOLDEN[model]])
    for answer, golden in zip(answers, GOLDEN[model], strict=True):
        assert answer.probabilities == pytest.approx(golden.probabilities, abs=1e-5)
        assert answer.comments == pytest.approx(golden.comments, abs=1e-5)
        assert answer.page_kinds == pytest.approx(golden.page_kinds, abs=1e-5)
        assert (answer.model, answer.labeler) == (ModelVersion(model, NEWEST[model].name), "triton")
    await labeler.close()


async def test_answers_leave_nothing_in_the_log_of_triton(labeler, stack):
    log = stack.services["triton"].log
    before = log.stat().st_size
    await labeler.label([page(3), page(5)])
    assert log.read_bytes()[before:] == b""


async def test_pages_of_several_workers_are_merged_and_each_gets_its_own_answer(stack):
    workers = [TritonLabeler(stack.addresses.triton_grpc, "boilernet") for _ in range(4)]
    random = np.random.default_rng(5)
    pages = [[page(int(random.integers(1, 60)), seed=16 * w + i) for i in range(16)] for w in range(4)]
    before = inferences(stack)
    answers = await asyncio.gather(*(worker.label(mine) for worker, mine in zip(workers, pages, strict=True)))
    async with asyncio.timeout(30):  # Triton counts a request after it has answered
        while inferences(stack)[0] - before[0] < 64:  # noqa: ASYNC110 Triton sets no event
            await asyncio.sleep(0.05)
    count, executions = (after - was for after, was in zip(inferences(stack), before, strict=True))
    in_process = OnnxLabeler("boilernet")
    for mine, labels in zip(pages, answers, strict=True):
        for ours, theirs in zip(labels, await in_process.label(mine), strict=True):
            assert np.abs(ours.probabilities - theirs.probabilities).max() < 1e-5
    assert count == 64
    assert executions < count / 2
    for worker in workers:
        await worker.close()


async def test_a_page_without_blocks_is_never_sent(labeler, stack):
    before = inferences(stack)
    (empty,) = await labeler.label([page(0)])
    assert len(empty.probabilities) == 0
    assert empty.model == ModelVersion("boilernet", NEWEST["boilernet"].name)
    assert inferences(stack) == before


async def test_a_page_of_very_many_blocks_is_labeled_in_windows(labeler):
    whole = page(WINDOW_BLOCKS + 30)
    (labels,) = await labeler.label([whole])
    (in_process,) = await OnnxLabeler("boilernet").label([whole])
    assert np.abs(labels.probabilities - in_process.probabilities).max() < 1e-5


async def test_a_page_whose_lengths_contradict_its_ids_is_rejected_and_its_batch_mates_are_not(labeler):
    good = [page(30, seed) for seed in range(8)]
    bad = with_tokens(good[0], ids=good[0].tokens.ids[:-1])
    *answers, rejected = await labeler.label([*good, bad])
    assert isinstance(rejected, Broken)
    assert rejected.reason is BrokenReason.REJECTED_BY_MODEL
    assert all(isinstance(answer, Prediction) for answer in answers)


@pytest.mark.parametrize(("model", "version"), [("missing", ""), ("boilernet", "7"), ("boilernet", "newest")])
async def test_a_model_that_is_not_served_is_a_configuration_error(stack, model, version):
    labeler = TritonLabeler(stack.addresses.triton_grpc, model, version)
    with pytest.raises(ConfigurationError, match=stack.addresses.triton_grpc):
        await labeler.label([page(3)])
    await labeler.close()


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A Triton of this module's own, and the repository that it serves."""
    model = tmp_path_factory.mktemp("models") / "boilernet"
    shutil.copytree(NEWEST["boilernet"], model / "1")
    shutil.copy(DEFAULT_REPOSITORY / "boilernet" / "config.pbtxt", model)
    directory = tmp_path_factory.mktemp("own")
    with Stack(directory, repository=model.parent, services=("triton",)) as stack:
        yield stack, model


async def load(stack, model):
    client = InferenceServerClient(stack.addresses.triton_grpc)
    await client.load_model(model.name)
    await client.close()


async def test_the_sizes_of_batches_leave_nothing_in_the_memory_of_a_model(own):
    stack, model = own
    labeler = TritonLabeler(stack.addresses.triton_grpc, model.name)
    processes = [
        each
        for each in psutil.Process().children(recursive=True)
        if Path(each.exe()).is_relative_to(stack.addresses.directory)
    ]

    async def memory_after(seeds):
        for seed in seeds:
            await labeler.label([page(1 + seed % 200, seed)])
        return sum(each.memory_full_info().uss for each in processes)

    before = await memory_after(range(500))
    after = await memory_after(range(500, 2000))
    assert after - before < MIB // 2  # some 3 MB, if a memory pattern of each size is kept
    await labeler.close()


async def test_a_new_version_takes_over_without_a_failed_page(own):
    stack, model = own
    labeler = TritonLabeler(stack.addresses.triton_grpc, model.name)
    answered = []
    steady = asyncio.Event()

    async def stream(seed):
        while not answered or answered[-1].model.version == "1":
            answered.extend(await labeler.label([page(20, seed), page(30, seed)]))
            if len(answered) >= 20:
                steady.set()

    streams = [asyncio.create_task(stream(seed)) for seed in range(6)]
    await steady.wait()
    shutil.copytree(model / "1", model / "2")
    await load(stack, model)
    await asyncio.gather(*streams)
    assert {answer.model.version for answer in answered} == {"1", "2"}
    await labeler.close()


async def test_a_version_that_reads_another_encoding_takes_over_without_a_failed_page(own):
    stack, model = own
    labeler = TritonLabeler(stack.addresses.triton_grpc, model.name)
    before = await labeler.label(PAGES)
    served = (DEFAULT_REPOSITORY / "dehusk" / "config.pbtxt").read_text()
    shutil.copytree(NEWEST["dehusk"], model / "3")
    (model / "config.pbtxt").write_text(served.replace('name: "dehusk"', f'name: "{model.name}"', 1))
    await load(stack, model)
    after = await labeler.label(PAGES)
    assert {answer.model.version for answer in before} == {"2"}
    assert {answer.model.version for answer in after} == {"3"}
    for answer, golden in zip(after, GOLDEN["dehusk"], strict=True):
        assert np.abs(answer.probabilities - golden.probabilities).max() < 1e-5
    await labeler.close()


async def test_a_version_that_reads_more_of_a_page_names_it_and_takes_over(own):
    stack, model = own
    labeler = TritonLabeler(stack.addresses.triton_grpc, model.name)
    bare = [replace(page, web2text=None) for page in PAGES]
    before = await labeler.label(bare)
    config = (model / "config.pbtxt").read_text()
    served = (DEFAULT_REPOSITORY / "web2text" / "config.pbtxt").read_text()
    shutil.copytree(NEWEST["web2text"], model / "9")
    (model / "config.pbtxt").write_text(served.replace('name: "web2text"', f'name: "{model.name}"', 1))
    await load(stack, model)
    assert labeler.encodings == frozenset()
    with pytest.raises(NotEncodedError, match="web2text"):
        await labeler.label(bare)
    assert labeler.encodings == {Encoding.WEB2TEXT}
    after = await labeler.label(PAGES)
    for answer, golden in zip(after, GOLDEN["web2text"], strict=True):
        assert np.abs(answer.probabilities - golden.probabilities).max() < 1e-5
    shutil.rmtree(model / "9")
    (model / "config.pbtxt").write_text(config)
    await load(stack, model)
    again = await labeler.label(bare)
    assert labeler.encodings == frozenset()
    assert [answer.model.version for answer in (before[0], after[0], again[0])] == ["3", "9", "3"]
    await labeler.close()


async def swap(stack, model, gone, version, files):
    """Serve a version of another signature in place of one."""
    shutil.rmtree(model / gone)
    shutil.copytree(files / version, model / version)
    shutil.copy(files / "config.pbtxt", model)
    await load(stack, model)


async def test_versions_with_kinds_of_pages_and_without_replace_each_other_without_a_failed_page(
    tmp_path_factory, tmp_path
):
    with_kinds, without = tmp_path / "with", tmp_path / "without"
    graphs.write_version(with_kinds / "2", graphs.with_kinds())
    graphs.write_config_of(with_kinds, "m", STRUCTURE_WITH_PAGE_KIND)
    for version in ("1", "3"):
        graphs.write_version(without / version, graphs.without_kinds())
    graphs.write_config_of(without, "m", STRUCTURE_WITH_COMMENTS)
    model = tmp_path_factory.mktemp("models") / "m"
    shutil.copytree(without / "1", model / "1")
    shutil.copy(without / "config.pbtxt", model)
    answered = []
    takes_over = {version: asyncio.Event() for version in ("1", "2", "3")}

    async def stream(labeler, number):
        while not takes_over["3"].is_set():
            pages = [PAGES[number % len(PAGES)], whole_page(number)]
            for page, answer in zip(pages, await labeler.label(pages), strict=True):
                answered.append((page, answer))
                takes_over[answer.model.version].set()

    directory = tmp_path_factory.mktemp("kinds")
    with Stack(directory, repository=model.parent, services=("triton",)) as stack:
        labeler = TritonLabeler(stack.addresses.triton_grpc, "m")
        async with asyncio.timeout(120), asyncio.TaskGroup() as streams:
            for number in range(1, 7):
                streams.create_task(stream(labeler, number))
            await takes_over["1"].wait()
            await swap(stack, model, "1", "2", with_kinds)
            await takes_over["2"].wait()
            await swap(stack, model, "2", "3", without)
        await labeler.close()
    assert {answer.model.version for _, answer in answered} == {"1", "2", "3"}
    for page, answer in answered:
        kinds = graphs.kinds_of(len(page)) if answer.model.version == "2" else None
        assert answer.page_kinds == (kinds and pytest.approx(kinds))
        assert len(answer.probabilities) == len(page)


async def test_a_swap_to_a_model_of_another_signature_stops_the_labeler(own):
    stack, model = own
    labeler = TritonLabeler(stack.addresses.triton_grpc, model.name)
    await labeler.label(PAGES[:1])
    served = (model / "config.pbtxt").read_text()
    changed = served.replace(OnnxLabeler("dehusk").signature.declared, "tokens of tomorrow")
    (model / "config.pbtxt").write_text(changed)
    shutil.copytree(model / "3", model / "4")
    await load(stack, model)
    with pytest.raises(ConfigurationError, match="declares the signature 'tokens of tomorrow'"):
        await labeler.label(PAGES[:1])
    await labeler.close()
    (model / "config.pbtxt").write_text(served)
    await load(stack, model)


async def test_a_triton_that_is_away_is_unavailable_and_found_again(own):
    stack, model = own
    labeler = TritonLabeler(stack.addresses.triton_grpc, model.name)
    await labeler.label(PAGES[:1])
    await asyncio.to_thread(stack.services["triton"].stop)
    with pytest.raises(UnavailableError, match=stack.addresses.triton_grpc):
        await labeler.label(PAGES[:2])
    await asyncio.to_thread(stack.services["triton"].start)
    async with asyncio.timeout(20):
        while True:
            try:
                (labels,) = await labeler.label(PAGES[:1])
                break
            except UnavailableError:
                await asyncio.sleep(0.1)
    assert len(labels.probabilities) == len(PAGES[0])
    await labeler.close()


async def test_a_triton_that_does_not_answer_in_time_is_unavailable(own):
    stack, model = own
    labeler = TritonLabeler(stack.addresses.triton_grpc, model.name)
    await labeler.label(PAGES[:1])
    stack.services["triton"].pause()
    hasty = TritonLabeler(stack.addresses.triton_grpc, model.name, timeout=0.5, option="--patience")
    try:
        with pytest.raises(UnavailableError, match=r"did not answer within 0\.5 s \(--patience\)"):
            await hasty.label(PAGES[:1])
    finally:
        stack.services["triton"].resume()
    await hasty.close()
    await labeler.close()


async def test_a_pinned_version_that_another_one_has_replaced_is_named(own):
    stack, model = own
    newest = max(int(version.name) for version in model.iterdir() if version.is_dir())
    labeler = TritonLabeler(stack.addresses.triton_grpc, model.name, str(newest))
    await labeler.label(PAGES[:1])
    shutil.copytree(model / str(newest), model / str(newest + 1))
    await load(stack, model)
    replaced = f"serves version {newest + 1} of model 'boilernet', and not version {newest}"
    for pinned in (labeler, TritonLabeler(stack.addresses.triton_grpc, model.name, str(newest))):
        with pytest.raises(ConfigurationError, match=replaced):
            await pinned.label(PAGES[:1])
        await pinned.close()


async def test_triton_says_what_it_has_done(labeler):
    before = await labeler.activity()
    await labeler.label([page(5, seed) for seed in range(3)])
    async with asyncio.timeout(60):  # Triton counts a request after it has answered
        while (after := await labeler.activity()).requests - before.requests < 3:  # noqa: ASYNC110 see above
            await asyncio.sleep(0.05)
    assert after.requests - before.requests == 3
    assert 1 <= after.batches - before.batches <= 3
    assert after.queue_seconds > before.queue_seconds
    assert after.errors == before.errors


async def test_a_model_that_is_not_there_has_done_nothing(stack):
    labeler = TritonLabeler(stack.addresses.triton_grpc, "nothing")
    with pytest.raises((ConfigurationError, UnavailableError)):
        await labeler.activity()
    await labeler.close()
