"""Pages a second that a Triton server labels, by the pages in flight, compared with one core without it."""

import asyncio
import math
import multiprocessing
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from multiprocessing.synchronize import Barrier
from statistics import quantiles

import numpy as np
import psutil

from benchmarks.pages import Page
from benchmarks.steps import decode
from benchmarks.stream import cpu, processes_on
from dehusk.inference.labelers.labeler import Activity
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.inference.labelers.triton import TritonLabeler
from dehusk.inference.preparing import prepare
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction, PreparedPage, RawPage
from dehusk.streams.local.folder import LOOPBACK, free_ports, temporary_folder
from dehusk.streams.local.process import Service
from dehusk.streams.local.triton import TritonServer, find_triton

IN_FLIGHT = (1, 32, 256)
_CLIENTS = 8
"""Limit of client processes, as one labeler has at most 32 pages in flight."""
_APART = 7
"""Number of pages between those with which two tasks of a client begin."""
_WARM_SECONDS, _SECONDS = 2.0, 6.0


@dataclass(frozen=True, slots=True)
class Rate:
    """Measurements at one number of pages in flight."""

    in_flight: int
    pages_a_second: float
    seconds: Sequence[float]
    """Seconds of each call."""
    batch: float
    """Pages of a batch, on average."""
    cpu: float
    """CPU seconds of the server for a page; NaN where it was not started here."""


@dataclass(frozen=True, slots=True)
class Result:
    """Measurements of a server."""

    address: str
    core_seconds: float
    """CPU seconds of a page, labeled by one core without a server."""
    difference: float
    """Largest difference of a probability from that without a server."""
    rates: Sequence[Rate]


@dataclass(frozen=True, slots=True)
class _Server:
    address: str
    model: str
    processes: Sequence[psutil.Process]
    """Those of a server that was started here."""

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        async with self._labeler() as labeler:
            return await labeler.label(pages)

    async def activity(self) -> Activity:
        async with self._labeler() as labeler:
            return await labeler.activity()

    async def calls(self, pages: Sequence[EncodedPage], in_flight: int) -> list[float]:
        """Keep so many pages in flight; return the seconds of the calls that end while it counts."""
        first = time.monotonic() + _WARM_SECONDS
        last = first + _SECONDS
        seconds: list[float] = []

        async def ask(labeler: TritonLabeler, begin: int) -> None:
            for page in islice(cycle(pages), begin, None):
                begun = time.monotonic()
                await labeler.label([page])
                if (ended := time.monotonic()) > last:
                    return
                if ended > first:
                    seconds.append(ended - begun)

        async with self._labeler() as labeler:
            await asyncio.gather(*(ask(labeler, number * _APART) for number in range(in_flight)))
        return seconds

    @asynccontextmanager
    async def _labeler(self) -> AsyncIterator[TritonLabeler]:
        labeler = TritonLabeler(self.address, self.model)
        try:
            yield labeler
        finally:
            await labeler.close()


def measure(pages: Sequence[Page], model: str, address: str | None) -> Result:
    """Measure the server at an address, or one that is started here."""
    if address is not None:
        return _measure(_Server(address, model, ()), pages)
    with temporary_folder() as folder:
        program = TritonServer("triton", find_triton(), DEFAULT_REPOSITORY, folder, *free_ports(3))
        service = Service(program, folder / "triton.log")
        service.start()
        try:
            local = f"{LOOPBACK}:{program.grpc_port}"
            return _measure(_Server(local, model, processes_on(program.grpc_port)), pages)
        finally:
            service.stop()


def _measure(server: _Server, pages: Sequence[Page]) -> Result:
    labeler = OnnxLabeler(server.model)
    prepared = (prepare(RawPage(page.url, decode(page.html)), encodings=labeler.encodings) for page in pages)
    encoded = [page.encoded for page in prepared if isinstance(page, PreparedPage) and len(page.encoded)]
    labeler.label_here(encoded[0])
    begun = time.process_time()
    expected = [labeler.label_here(page) for page in encoded]
    core_seconds = (time.process_time() - begun) / len(encoded)
    answers = asyncio.run(server.label(encoded))
    difference = max(map(_difference, answers, expected))
    rates = [_rate(server, encoded, in_flight) for in_flight in IN_FLIGHT]
    return Result(server.address, core_seconds, difference, rates)


def _difference(one: Prediction | Broken, other: Prediction | Broken) -> float:
    if isinstance(one, Broken) or isinstance(other, Broken):
        raise TypeError(f"{one} and {other} cannot be compared")
    return float(np.abs(one.probabilities - other.probabilities).max())


def _rate(server: _Server, pages: Sequence[EncodedPage], in_flight: int) -> Rate:
    """Keep so many pages in flight, from several processes; the first seconds are not counted."""
    clients = min(_CLIENTS, in_flight)
    parts = [pages[number::clients] for number in range(clients)]
    cpu_before, before = sum(cpu(server.processes)), asyncio.run(server.activity())
    remote = replace(server, processes=())
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(clients, context, _wait, (context.Barrier(clients),)) as pool:
        asked = [pool.submit(_ask, remote, part, in_flight // clients) for part in parts]
        seconds = [second for each in asked for second in each.result()]
    taken, after = sum(cpu(server.processes)) - cpu_before, asyncio.run(server.activity())
    answered = after.requests - before.requests
    return Rate(
        in_flight=in_flight,
        pages_a_second=len(seconds) / _SECONDS,
        seconds=seconds,
        batch=answered / (after.batches - before.batches),
        cpu=taken / answered if server.processes else math.nan,
    )


def _wait(all_are_there: Barrier) -> None:
    all_are_there.wait()


def _ask(server: _Server, pages: Sequence[EncodedPage], in_flight: int) -> list[float]:
    return asyncio.run(server.calls(pages, in_flight))


def report(result: Result) -> str:
    """Return the measurements as a table."""
    core = result.core_seconds
    lines = [
        f"Triton at {result.address}; a core without it takes {core * 1000:.2f} ms a page",
        f"Largest difference of a probability: {result.difference:.1e}",
        f"{'in flight':>9} {'pages/s':>8} {'cores':>6} {'batch':>6} {'half':>8} {'99 %':>8} {'CPU, ms':>8}",
    ]
    for rate in result.rates:
        half, most = (1000 * quantiles(rate.seconds, n=100)[cut] for cut in (49, 98))
        cores = rate.pages_a_second * core
        lines.append(
            f"{rate.in_flight:9} {rate.pages_a_second:8.0f} {cores:6.2f} {rate.batch:6.1f}"
            f" {half:5.0f} ms {most:5.0f} ms {rate.cpu * 1000:8.2f}"
        )
    return "\n".join(lines)
