"""Models that read different encodings of a page, swapped on Triton while a worker runs."""

import shutil
from pathlib import Path

import orjson
import pytest
from tritonclient.grpc.aio import InferenceServerClient

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.streams.local.stack import LocalStack

SERVED = {name: find_model(DEFAULT_REPOSITORY, name)[1].parent for name in ("dehusk", "web2text")}


class Swapping:
    """A Triton whose model `dehusk` is one of several."""

    def __init__(self, stack: LocalStack, model: Path) -> None:
        self.stack = stack
        self._model = model

    def put(self, kind: str, version: str) -> None:
        """Have the repository hold a model of that kind as a version."""
        shutil.copytree(SERVED[kind], self._model / version)
        config = (DEFAULT_REPOSITORY / kind / "config.pbtxt").read_text()
        (self._model / "config.pbtxt").write_text(config.replace(f'name: "{kind}"', 'name: "dehusk"', 1))

    async def swap(self, kind: str, version: str) -> None:
        """Have Triton serve a model of that kind as a version."""
        self.put(kind, version)
        client = InferenceServerClient(self.stack.addresses.triton_grpc)
        await client.load_model("dehusk")
        await client.close()


@pytest.fixture
def triton(tmp_path: Path):
    model = tmp_path / "models" / "dehusk"
    model.mkdir(parents=True)
    (tmp_path / "triton").mkdir()
    made = Swapping(LocalStack(tmp_path / "triton", repository=model.parent, services=("triton",)), model)
    made.put("dehusk", "1")
    with made.stack:
        yield made


async def test_models_that_read_different_encodings_take_over_while_a_worker_runs(
    bench, site, triton
) -> None:
    records = site(120)
    worker = bench.worker("--labeler", "triton", "--triton", triton.stack.addresses.triton_grpc)
    await bench.until(worker.has_partitions)
    await bench.produce(records[:30])
    await bench.until_done()
    await bench.produce(records[30:60])
    await triton.swap("web2text", "2")
    await bench.produce(records[60:90])
    await bench.until_done()
    await triton.swap("dehusk", "3")
    await bench.produce(records[90:])
    await bench.until_done()
    versions = {
        message.key: orjson.loads(message.value)["model"]["version"] for message in await bench.documents()
    }
    assert not await bench.dead_letters()
    parts = (records[:30], records[60:90], records[90:])
    assert [{versions[record.key] for record in part} for part in parts] == [{"1"}, {"2"}, {"3"}]
    assert {versions[record.key] for record in records[30:60]} <= {"1", "2"}
    assert worker.starts == 1
