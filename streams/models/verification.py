"""Verification of a version, on Triton or in process: its answers, alone and in batches, and its latency."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dehusk.inference.labelers.batching import Window, WindowAnswer, windows
from dehusk.inference.labelers.golden import MAX_DIFFERENCE, GoldenAnswer, largest_difference
from dehusk.inference.labelers.repository import find_model, versions
from dehusk.inference.labelers.signature import Signature, signature_of
from dehusk.streams.models.candidate import Candidate, CandidateContent, header_of, read_candidate, read_text
from dehusk.streams.models.model_config import check_config, config_of, read_config, warmup_files
from dehusk.streams.models.names import MAX_LATENCY, Fault, FaultError
from dehusk.streams.models.onnx_header import signature_in
from dehusk.streams.models.runners import Runner, TritonRunner, open_onnx_runner, open_triton_runner
from dehusk.streams.models.server import ModelServer

_ROUNDS = 25
"""Measurements of each page."""
_SECONDS = 20
"""Time after which no further round begins."""
_PROCESS_SECONDS = 60.0
"""Time limit of a load, and of the answer to a page, in a process."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from a request to its answer, of one page at a time."""

    p50: float
    p99: float
    answers: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Largest differences of answers from the expected ones, but for outliers."""

    pages: int
    blocks: int
    from_training: float
    in_batches: float
    """Difference of a page with other pages in its batch from the page alone."""


@dataclass(frozen=True, slots=True)
class Report:
    """Report on a version that passed."""

    labeler: str
    signature: str
    bytes: int
    sha256: str
    agreement: Agreement
    latency: Latency
    beside: str
    """Default version, e.g. `dehusk/7`; empty if there is none that can be measured."""
    latency_beside: Latency | None


_Timed = tuple[str, Runner, Sequence[Window]]


async def check_on_triton(
    candidate: Candidate, server: ModelServer, model: str, *, max_latency: float = MAX_LATENCY
) -> Report:
    """Check a version on Triton under a temporary name, against the served version of `model`.

    Raises:
        FaultError: it is not to be served.
        UnavailableError: Triton does not answer.
    """
    async with _open_on_triton(candidate, server) as (content, runner):
        return await _check(
            "triton", content, runner, await _triton_baseline(server, model, content), max_latency
        )


async def check_answers(candidate: Candidate, server: ModelServer | None) -> None:
    """Check the answers of a version, and no times: on Triton or, without one, in a process of its own.

    Raises:
        FaultError: it is not to be served.
        UnavailableError: Triton does not answer.
    """
    opened = _open_on_triton(candidate, server) if server else _open_in_process(candidate, _PROCESS_SECONDS)
    async with opened as (content, runner):
        await _check_answers(runner, content, _golden_windows(content.golden, content.signature))


@asynccontextmanager
async def _open_on_triton(
    candidate: Candidate, server: ModelServer
) -> AsyncIterator[tuple[CandidateContent, Runner]]:
    """Load a version on Triton under a temporary name, as it would be served; raises what the checks do."""
    content = await asyncio.to_thread(read_candidate, candidate)
    config, warmup = await asyncio.to_thread(_config, candidate, content)
    async with open_triton_runner(server, content.signature, content.model, config, warmup) as runner:
        yield content, runner


@asynccontextmanager
async def _open_in_process(
    candidate: Candidate, seconds: float
) -> AsyncIterator[tuple[CandidateContent, Runner]]:
    """Load a version in a process of its own; raises what the checks do."""
    content = await asyncio.to_thread(read_candidate, candidate)
    await asyncio.to_thread(_config, candidate, content)
    async with open_onnx_runner(candidate.model, seconds) as runner:
        yield content, runner


async def check_in_process(
    candidate: Candidate, repository: Path, model: str, *, seconds: float, max_latency: float = MAX_LATENCY
) -> Report:
    """Check a version in a process of its own, against the one that workers use.

    Raises:
        FaultError: it is not to be served.
    """
    async with _open_in_process(candidate, seconds) as (content, runner), AsyncExitStack() as stack:
        baseline = await _onnx_baseline(stack, repository, model, content, seconds)
        return await _check("onnx", content, runner, baseline, max_latency)


async def _check(
    labeler: str, content: CandidateContent, runner: Runner, baseline: _Timed | None, max_latency: float
) -> Report:
    golden_windows = _golden_windows(content.golden, content.signature)
    agreement = await _check_answers(runner, content, golden_windows)
    others = [baseline[1:]] if baseline else []
    latency, *baseline_latency = await _time_answers([(runner, golden_windows), *others])
    for usual in baseline_latency:
        _check_latency(latency, usual, max_latency)
    return Report(
        labeler,
        content.signature.declared,
        len(content.model),
        hashlib.sha256(content.model).hexdigest(),
        agreement,
        latency,
        baseline[0] if baseline else "",
        baseline_latency[0] if baseline_latency else None,
    )


def _config(candidate: Candidate, content: CandidateContent) -> tuple[Any, dict[str, bytes]]:
    """Return the configuration of a candidate's model, or one made for its signature, and its warm-ups."""
    if candidate.config is None:
        return config_of(content.signature), {}
    config = read_config(read_text(candidate.config))
    check_config(config, content.signature)
    return config, warmup_files(config, candidate.config.parent)


async def _triton_baseline(server: ModelServer, model: str, content: CandidateContent) -> _Timed | None:
    """Return the trusted version of a model on Triton, to compare with; None without one."""
    ready = await server.ready(model)
    trusted = await server.trusted(model, ready)
    signature = signature_of(await server.signature(model)) if ready else None
    if signature is None:
        return None
    runner = TritonRunner(server, model, signature, trusted)
    return f"{model}/{trusted}", runner, _golden_windows(content.golden, signature)


async def _onnx_baseline(
    stack: AsyncExitStack, repository: Path, model: str, content: CandidateContent, seconds: float
) -> _Timed | None:
    """Return the version that workers with `--labeler onnx` use, to compare with; None without one."""
    if not versions(repository, model):
        return None
    name, file = find_model(repository, model)
    try:
        signature = signature_in(header_of(file))
        runner = await stack.enter_async_context(open_onnx_runner(file, seconds))
    except FaultError:
        return None
    return f"{model}/{name.version}", runner, _golden_windows(content.golden, signature)


def _golden_windows(golden: Sequence[GoldenAnswer], signature: Signature) -> list[Window]:
    """Return the golden pages as a model of a signature reads them, each in one window."""
    return [window for each in golden for window in windows(each.page, signature)]


async def _check_answers(
    runner: Runner, content: CandidateContent, golden_windows: list[Window]
) -> Agreement:
    """Run the golden pages alone and in batches.

    Raises:
        FaultError: an answer differs from training, is no probability, or depends on the batch.
    """
    golden = content.golden
    single = [await runner.run_single(window) for window in golden_windows]
    for each, answer in zip(golden, single, strict=True):
        _check_probabilities(each.name, answer, content.signature, len(each.page))
    from_training = _difference(single, [each.tensors for each in golden])
    if not from_training <= MAX_DIFFERENCE:
        raise FaultError(
            Fault.OTHER_ANSWERS, f"probabilities differ from the trained model's by {from_training:.1e}"
        )
    return Agreement(
        len(golden),
        sum(map(len, golden_windows)),
        from_training,
        await _check_batches(runner, golden_windows, single),
    )


async def _check_batches(runner: Runner, golden_windows: list[Window], single: list[WindowAnswer]) -> float:
    batched = await runner.run_batched(golden_windows)
    expected = single * (len(batched) // len(single))
    if any(ours.shape != theirs.shape for ours, theirs in _pairs(batched, expected)):
        raise FaultError(Fault.DEPENDS_ON_BATCH, "in a batch, a page gets a different number of answers")
    difference = _difference(batched, expected)
    if not difference <= MAX_DIFFERENCE:
        raise FaultError(
            Fault.DEPENDS_ON_BATCH, f"with other pages of the batch, probabilities differ by {difference:.1e}"
        )
    return difference


async def _time_answers(runners: Sequence[tuple[Runner, Sequence[Window]]]) -> list[Latency]:
    """Measure the latency of runners on their windows, alternating, one request at a time."""
    taken: list[list[float]] = [[] for _ in runners]
    until = time.monotonic() + _SECONDS
    for number in range(_ROUNDS):
        if number and time.monotonic() > until:
            break
        for (runner, windows_of_runner), times in zip(runners, taken, strict=True):
            for window in windows_of_runner:
                began = time.perf_counter()
                await runner.run_single(window)
                times.append((time.perf_counter() - began) * 1000)
    return [
        Latency(float(np.percentile(times, 50)), float(np.percentile(times, 99)), len(times))
        for times in taken
    ]


def _check_latency(latency: Latency, baseline: Latency, max_ratio: float) -> None:
    """Check that a version is at most `max_ratio` times as slow as the baseline.

    Raises:
        FaultError: it is slower.
    """
    if latency.p50 > max_ratio * baseline.p50:
        raise FaultError(
            Fault.TOO_SLOW,
            f"a page takes {latency.p50:.1f} ms in the middle, more than {max_ratio:g} times the "
            f"{baseline.p50:.1f} ms of the default version",
        )


def _check_probabilities(page: str, answer: WindowAnswer, signature: Signature, blocks: int) -> None:
    for tensor, values in zip(signature.answer, answer, strict=True):
        if len(values) != (len(tensor.columns) or blocks):
            parts = f"{len(tensor.columns)} kinds" if tensor.columns else f"{blocks} blocks"
            raise FaultError(Fault.WRONG_SHAPE, f"{len(values)} probabilities for the {parts} of {page!r}")
        if not np.isfinite(values).all():
            raise FaultError(Fault.NOT_FINITE, f"an answer to {page!r} is NaN or infinite")
        if values.min() < 0 or values.max() > 1:
            raise FaultError(Fault.NOT_PROBABILITIES, f"an answer to {page!r} is not between 0 and 1")


def _difference(ours: Sequence[WindowAnswer], theirs: Sequence[WindowAnswer]) -> float:
    return largest_difference(np.concatenate([np.abs(a - b) for a, b in _pairs(ours, theirs)]))


def _pairs(
    ours: Sequence[WindowAnswer], theirs: Sequence[WindowAnswer]
) -> list[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
    return [pair for mine, yours in zip(ours, theirs, strict=True) for pair in zip(mine, yours, strict=True)]
