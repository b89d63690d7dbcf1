"""All checks of a version, on Triton or in process, with its speed beside that of the default version."""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dehusk.inference.batching import Window
from dehusk.inference.repository import find_model, versions
from dehusk.inference.signature import signature_of
from dehusk.streams.models.candidate import Candidate, Examined, examine
from dehusk.streams.models.configuration import check_config, config_of, read_config
from dehusk.streams.models.faults import FaultError
from dehusk.streams.models.files import MOST_TEXT_BYTES, read_plain
from dehusk.streams.models.limits import MOST_LATENCY
from dehusk.streams.models.onnx_header import signature_in
from dehusk.streams.models.overview import header_of
from dehusk.streams.models.runners import Runner, TritonRunner, in_process, on_triton
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.verification import (
    Agreement,
    Latency,
    check_answers,
    check_latency,
    golden_windows,
    time_answers,
)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found of a version that passed."""

    labeler: str
    signature: str
    bytes: int
    sha256: str
    agreement: Agreement
    latency: Latency
    beside: str
    """The default version, e.g. `dehusk/7`; empty where there is none that can be timed."""
    latency_beside: Latency | None


_Timed = tuple[str, Runner, Sequence[Window]]


async def check_on_triton(
    candidate: Candidate, server: ModelServer, model: str, *, most_latency: float = MOST_LATENCY
) -> Report:
    """Check a version on Triton, where it is loaded under a name of its own; beside what `model` serves.

    Raises:
        FaultError: it is not to be served.
        UnavailableError: Triton does not answer.
    """
    examined = await asyncio.to_thread(examine, candidate)
    config = await asyncio.to_thread(_config, candidate, examined)
    async with on_triton(server, examined.signature, examined.content, config) as runner:
        return await _check("triton", examined, runner, await _served(server, model, examined), most_latency)


async def check_in_process(
    candidate: Candidate, repository: Path, model: str, *, seconds: float, most_latency: float = MOST_LATENCY
) -> Report:
    """Check a version on ONNX Runtime, in a process of its own; beside the one that workers take.

    Raises:
        FaultError: it is not to be served.
    """
    examined = await asyncio.to_thread(examine, candidate)
    await asyncio.to_thread(_config, candidate, examined)
    async with AsyncExitStack() as stack:
        runner = await stack.enter_async_context(in_process(candidate.model, examined.signature, seconds))
        beside = await _in_service(stack, repository, model, examined, seconds)
        return await _check("onnx", examined, runner, beside, most_latency)


async def _check(
    labeler: str, examined: Examined, runner: Runner, beside: _Timed | None, most_latency: float
) -> Report:
    agreement = await check_answers(runner, examined.golden, examined.signature)
    cut = golden_windows(examined.golden, examined.signature)
    others = [beside[1:]] if beside else []
    latency, *latency_beside = await time_answers([(runner, cut), *others])
    for usual in latency_beside:
        check_latency(latency, usual, most_latency)
    return Report(
        labeler,
        examined.signature.declared,
        len(examined.content),
        hashlib.sha256(examined.content).hexdigest(),
        agreement,
        latency,
        beside[0] if beside else "",
        latency_beside[0] if latency_beside else None,
    )


def _config(candidate: Candidate, examined: Examined) -> Any:  # noqa: ANN401 a `ModelConfig` of Triton's
    """The configuration of a candidate's model, or one made for its signature."""
    if candidate.config is None:
        return config_of(examined.signature)
    config = read_config(read_plain(candidate.config, MOST_TEXT_BYTES).decode("utf-8", "replace"))
    check_config(config, examined.signature)
    return config


async def _served(server: ModelServer, model: str, examined: Examined) -> _Timed | None:
    """The version of a model that Triton gives to requests that name none."""
    ready = await server.ready(model)
    signature = signature_of(await server.signature(model)) if ready else None
    if signature is None:
        return None
    runner = TritonRunner(server, model, signature)
    return f"{model}/{ready[-1]}", runner, golden_windows(examined.golden, signature)


async def _in_service(
    stack: AsyncExitStack, repository: Path, model: str, examined: Examined, seconds: float
) -> _Timed | None:
    """The version of a model that in-process workers take."""
    if not versions(repository, model):
        return None
    name, file = find_model(repository, model)
    try:
        signature = signature_in(header_of(file))
        runner = await stack.enter_async_context(in_process(file, signature, seconds))
    except FaultError:
        return None
    return f"{model}/{name.version}", runner, golden_windows(examined.golden, signature)
