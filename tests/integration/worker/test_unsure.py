"""Documents whose content is unsure go to a topic of their own, too."""

from dataclasses import replace

import orjson
import pytest

from dehusk.streams.kafka.client import ensure_topics
from dehusk.streams.settings import Guarantee


@pytest.mark.parametrize("delivery", list(Guarantee))
async def test_unsure_documents_are_on_both_topics(bench, fresh: str, site, delivery: Guarantee) -> None:
    unsure = f"{fresh}-unsure"
    await ensure_topics(bench.kafka, replace(bench.topics, unsure=unsure))
    await bench.produce(site(6))
    options = ("--labeler", "onnx", "--delivery", delivery, "--unsure-topic", unsure)
    worker = bench.worker(*options, "--unsure-below", "1")
    await bench.until_done()
    documents = {document.key: document.value for document in await bench.documents()}
    expected = [orjson.loads(value)["expected_f1"] for value in documents.values()]
    apart = {document.key: document.value for document in await bench.messages(unsure)}
    assert len(documents) == 6
    assert all(0 < each < 1 for each in expected)
    assert apart == documents
    assert worker.stop() == 0
