"""Profile of a worker that empties a backlog: parts of a page's CPU time, and the memory of its processes.

`py-spy`, which has to be on the path (`pip install py-spy`), samples the stacks of all processes. The shares
of the parts in the samples are taken as those in the CPU time that the kernel counts.
"""

import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.pages import Page
from benchmarks.stream import Backlog, DrainCost, processes_on
from dehusk.streams.local.folder import temporary_folder
from dehusk.streams.local.stack import LocalStack

_SAMPLES_PER_SECOND = 100
_LONGEST_SECONDS = 600
_FRAME = re.compile(r"[^;]+ \([^;()]+\.pyx?(?::\d+)?\)")
_WAITS = re.compile(r"\.select \(selectors|^(wait|Condition\.wait) \(|^_worker \(|^_peak_memory \(")
"""Innermost frames of threads that wait; a page process that does so shows its last call. Whoever receives
the head of a frame has waited for it, too: its few bytes take no time."""
_OWN = (
    ("monitoring", r"aiohttp/|worker/monitoring/|prometheus_client/"),
    ("pickling of jobs and answers", r"pickled\.py|to_parts|ForkingPickler"),
    ("labeling", r"inference/labelers/|steps/labeling|onnxruntime"),
    (
        "pipes to page processes, their threads",
        r"streams/preparation/(pool|process|channel)|concurrent/futures/",
    ),
    ("Redis, statistics of sites", r"redis/|streams/sites/|_observe|site_signal"),
    ("Kafka, writing", r"aiokafka/producer/|steps/(delivery|transactions)|kafka/producer|input/membership"),
    ("Kafka, reading and acknowledging", r"aiokafka/|faust/|mode/|worker/input/"),
    ("flow of batches", r"dehusk/"),
    ("event loop", r"asyncio/"),
)
"""Parts of the worker's own process, and what a frame of theirs contains; the first one that does counts."""
_OF_PAGES = (
    ("packing of prepared pages", r"^pack \(|pickled\.py|to_parts"),
    ("pipes to the worker", r"preparation/channel|multiprocessing/connection"),
    ("decode, segment, encode", r"prepare_message"),
    ("extract", r"Writing\.extract"),
    ("limits and the rest", r""),
)
"""Parts of the page processes."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Profile of a worker with a labeler."""

    cost: DrainCost
    own: Counter[str]
    """Samples of the parts of its own process."""
    of_pages: Counter[str]
    """Samples of the parts of its page processes."""
    memory: Sequence[int]
    """Proportional set sizes in bytes: its own, then those of the processes that it started."""


def measure(pages: Sequence[Page], labelers: Sequence[str], rounds: int) -> list[Profile]:
    """Profile a worker with each labeler, with and without the statistics of sites."""
    sampler = shutil.which("py-spy")
    if sampler is None:
        raise click.UsageError("py-spy is not on the path: pip install py-spy")
    with temporary_folder() as folder, LocalStack(folder) as stack:
        backlog = Backlog(stack, pages, rounds, folder)
        return [
            _profile(backlog, labeler, with_sites=with_sites, sampler=sampler)
            for labeler in labelers
            for with_sites in (True, False)
        ]


def _profile(backlog: Backlog, labeler: str, *, with_sites: bool, sampler: str) -> Profile:
    samples = backlog.directory / "samples.txt"
    with backlog.found(labeler, with_sites=with_sites) as program:
        processes = processes_on(program.port)
        with _sampled(sampler, processes[0].pid, samples):
            cost = backlog.watch(program, labeler, with_sites=with_sites)
        memory = [int(process.memory_full_info().pss) for process in processes]
    own, of_pages = read(samples.read_text())
    return Profile(cost, own, of_pages, memory)


@contextmanager
def _sampled(sampler: str, process: int, output: Path) -> Iterator[None]:
    """Sample a process and all that it has started."""
    options = f"--rate {_SAMPLES_PER_SECOND} --duration {_LONGEST_SECONDS} --format raw --subprocesses"
    command = [sampler, "record", *options.split(), "--output", str(output), "--pid", str(process)]
    sampling = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        sampling.send_signal(signal.SIGINT)
        sampling.wait()


def read(samples: str) -> tuple[Counter[str], Counter[str]]:
    """Return the samples of the parts of a worker's own process and of its page processes."""
    own: Counter[str] = Counter()
    of_pages: Counter[str] = Counter()
    for line in samples.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = _FRAME.findall(stack)
        if not frames or _WAITS.search(frames[-1]) or "receive_head (" in stack:
            continue
        parts, counts = (_OF_PAGES, of_pages) if "_serve (" in stack else (_OWN, own)
        part = next((name for name, words in parts if any(re.search(words, frame) for frame in frames)), None)
        counts[part or "the rest"] += int(count)
    return own, of_pages


def report(profiles: Sequence[Profile]) -> str:
    """Return the parts of a page's CPU time, and the memory."""
    lines = ["Parts of a page's CPU time in a worker, in ms, by samples of its stacks"]
    for profile in profiles:
        cost = profile.cost
        lines += [
            f"{cost.labeler}{'' if cost.with_sites else ', no sites'}: {1000 * cost.cpu / cost.pages:.2f} ms"
            f" a page, {cost.pages} pages",
            *_rows("its own process", cost.worker_cpu / cost.pages, profile.own),
            *_rows("its page processes", cost.preparation_cpu / cost.pages, profile.of_pages),
            f"  memory in MB (PSS): {sum(profile.memory) / 1e6:.0f}, of its processes "
            f"{', '.join(f'{each / 1e6:.0f}' for each in profile.memory)}",
        ]
    return "\n".join(lines)


def _rows(title: str, seconds: float, samples: Counter[str]) -> Iterator[str]:
    total = samples.total()
    yield f"  {1000 * seconds:6.2f}  {title}, {total} samples"
    for part, count in samples.most_common():
        yield f"    {1000 * seconds * count / total:6.2f}  {part}"
