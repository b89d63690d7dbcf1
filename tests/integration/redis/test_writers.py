"""Several processes that count the pages of one site, some of which are killed."""

import asyncio
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

from dehusk.streams.sites.store import MemorySiteStatistics

PROGRAM = Path(__file__).with_name("writer.py")


def load_pages():
    spec = spec_from_file_location("writer", PROGRAM)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


def writer(url, seed):
    return subprocess.Popen([sys.executable, PROGRAM, url, str(seed)], stdout=subprocess.PIPE)


def kill_amid(process):
    """Kill a writer that has counted some batches."""
    for _ in range(10):
        process.stdout.readline()
    process.kill()
    process.wait()
    return process.returncode


async def test_writers_that_are_killed_and_repeated_leave_exact_counts(start, opened):
    server = start()
    writers = [writer(server.url, seed) for seed in range(4)]
    assert await asyncio.to_thread(kill_amid, writers[0]) == -9
    assert await asyncio.to_thread(kill_amid, writers[1]) == -9
    again = writer(server.url, 0)
    for process in (*writers[2:], again):
        assert await asyncio.to_thread(process.communicate)
        assert process.returncode == 0
    for process in writers[:2]:
        process.stdout.close()

    pages, recount = load_pages(), MemorySiteStatistics()
    await recount.observe(pages)
    async with opened(server) as store:
        for one, other in zip(await store.observe(pages), await recount.observe(pages), strict=True):
            assert one.pages == other.pages == len(pages) - 1
            for column in ("texts", "structure_pages", "structure_blocks", "structure_likely"):
                np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
