"""Statistics of a site that a worker leaves in Redis, to be seen."""

import asyncio
import random
import subprocess
from functools import partial

import orjson

from dehusk.streams.sources.source import Record
from tests.commands import DEHUSK

run = partial(subprocess.run, capture_output=True, check=True, timeout=60)
NOTICE = "Subscribe to our weekly letter and never miss a word of what we write about the world."
WORDS = ("mill", "river", "grain", "wheel", "water", "village", "harvest", "bread", "oven", "horse", "road")


def article(site: str, number: int) -> Record:
    """A page of random words, and a notice that looks like content until it is known to repeat."""
    chosen = random.Random(number)
    heading, *paragraphs = (" ".join(chosen.choices(WORDS, k=length)) for length in (3, 30, 30, 30, 30))
    html = (
        f"<html><body><nav><a href=/>Home</a></nav><main><h1>{heading}</h1>"
        f"<div class=notice><p>{NOTICE}</div><p>"
        f"{'.<p>'.join(paragraphs)}.</main><footer>All rights reserved</footer>"
    )
    return Record(f"https://{site}/{number}".encode(), html.encode(), (("content-type", b"text/html"),))


async def test_what_a_site_repeats_is_shown_once_it_is_crawled(bench, fresh) -> None:
    worker = bench.worker("--source", "html", "--labeler", "onnx")
    await bench.produce([article(f"{fresh}.example", number) for number in range(40)])
    await bench.until_done()
    counted = worker.metric("dehusk_corrected_blocks_total", "effect")
    assert worker.stop() == 0

    templates = [orjson.loads(message.value)["template"] for message in await bench.documents()]
    for effect in ("dropped", "saved"):
        assert sum(template[f"blocks_{effect}"] for template in templates) == counted[effect]
    assert counted["dropped"] + counted["saved"] > 0

    command = [DEHUSK, "sites", "show", f"{fresh}.example", "--redis", bench.stack.addresses.redis, "--json"]
    shown = orjson.loads((await asyncio.to_thread(run, command)).stdout)
    assert shown["pages"] == 40
    (footer,) = [each for each in shown["samples"] if each["text"] == "All rights reserved"]
    assert footer["pages"] == 40
    assert 0 < sum(each["dropped"] + each["saved"] for each in shown["samples"]) <= sum(counted.values())
