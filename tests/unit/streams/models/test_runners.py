"""Runners of a version that is verified, in a process of its own."""

from pathlib import Path

import pytest

from dehusk.inference.labelers.batching import windows
from dehusk.inference.labelers.golden import GOLDEN_FILE, parse_golden
from dehusk.inference.labelers.network import read_native
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.inference.labelers.signature import STRUCTURE_WITH_LINKS, TOKENS
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.models.names import Fault, FaultError
from dehusk.streams.models.runners import OnnxRunner, open_onnx_runner
from tests.unit.streams.models import graphs


@pytest.fixture
def version(tmp_path: Path) -> Path:
    return graphs.write_version(tmp_path / "new", graphs.always(0.5))


async def test_a_process_that_dies_is_a_fault_of_the_model(version: Path) -> None:
    (window, *_) = (
        w for each in parse_golden((version / GOLDEN_FILE).read_bytes()) for w in windows(each.page, TOKENS)
    )
    async with open_onnx_runner(version / "model.onnx", 30) as runner:
        (answer,) = await runner.run_single(window)
        assert answer.tolist() == [0.5] * len(window)
        runner.kill()
        with pytest.raises(FaultError, match="died: exit status -9") as raised:
            await runner.run_single(window)
    assert raised.value.fault is Fault.NOT_RUN


async def test_a_model_runs_in_native_code_as_in_a_worker() -> None:
    _, file = find_model(DEFAULT_REPOSITORY, "dehusk")
    golden, *_ = parse_golden(file.with_name(GOLDEN_FILE).read_bytes())
    (window,) = windows(golden.page, STRUCTURE_WITH_LINKS)
    native = read_native(file)
    assert native is not None
    async with open_onnx_runner(file, 60) as runner:
        answer = await runner.run_single(window)
    assert [each.tolist() for each in answer] == [each.tolist() for each in native.answers([window])[0]]


async def test_a_process_that_is_closed_while_it_starts_is_ended(version: Path) -> None:
    runner = OnnxRunner(version / "model.onnx", 30)
    runner.close()
    with pytest.raises(ConfigurationError, match="no process could be started: exit status -9"):
        await runner.ask([])
