"""Versions of models on a real Triton: verified beside what is served, served at once, removed."""

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from dehusk.inference.labelers.golden import GOLDEN_FILE, parse_golden
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.inference.labelers.triton import TritonLabeler
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.pages import Prediction
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.models.candidate import find_candidate, read_candidate
from dehusk.streams.models.lifecycle import Removal, remove_version
from dehusk.streams.models.model_config import as_override, config_of, renamed
from dehusk.streams.models.names import Fault, FaultError
from dehusk.streams.models.runners import TEMPORARY
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.serving import serve
from dehusk.streams.models.verification import check_on_triton
from tests.unit.streams.models import graphs

NEWEST = find_model(DEFAULT_REPOSITORY, "dehusk")[1].parent
PAGES = [golden.page for golden in parse_golden((NEWEST / GOLDEN_FILE).read_bytes())]


async def answering(address: str, version: str = "") -> set[str]:
    """The versions that answer pages."""
    labeler = TritonLabeler(address, "model", version)
    answers = await labeler.label(PAGES)
    await labeler.close()
    assert all(isinstance(each, Prediction) for each in answers)
    return {each.model.version for each in answers if isinstance(each, Prediction) and each.model}


async def temporary(server: ModelServer) -> list[str]:
    return [each.model for each in await server.index() if each.model.startswith(TEMPORARY)]


async def test_a_version_is_verified_beside_the_one_that_answers(triton: LocalStack) -> None:
    async with ModelServer(triton.addresses.triton_grpc) as server:
        report = await check_on_triton(find_candidate(NEWEST), server, "model")
        assert report.agreement.from_training < 1e-5
        assert report.agreement.in_batches < 1e-5
        assert report.beside == "model/1"
        assert report.latency_beside is not None
        assert await temporary(server) == []
        assert await server.ready("model") == ["1"]


async def test_what_a_killed_verification_left_is_unloaded_by_a_later_one(triton: LocalStack) -> None:
    content = read_candidate(find_candidate(NEWEST))
    recent = f"{TEMPORARY}{int(time.time())}-recent"
    async with ModelServer(triton.addresses.triton_grpc) as server:
        for name in (recent, f"{TEMPORARY}1600000000-old"):
            config = as_override(renamed(config_of(content.signature), name))
            await server.load(name, config, {"file:1/model.onnx": content.model})
        await check_on_triton(find_candidate(NEWEST), server, "model")
        assert await temporary(server) == [recent]
        await server.unload(recent)
        assert await temporary(server) == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (graphs.always(float("nan")), Fault.NOT_FINITE),
        (graphs.always(0.6), Fault.OTHER_ANSWERS),
        (graphs.batch_dependent(), Fault.DEPENDS_ON_BATCH),
        (graphs.model([graphs.node("Nonsense", ["zeros"], "prob")], []), Fault.NOT_LOADED),
    ],
    ids=lambda value: str(value) if isinstance(value, Fault) else "",
)
async def test_a_model_that_is_not_to_be_served_is_unloaded(
    triton: LocalStack, tmp_path: Path, content: bytes, expected: Fault
) -> None:
    place = find_candidate(graphs.write_version(tmp_path / "new", content))
    async with ModelServer(triton.addresses.triton_grpc) as server:
        with pytest.raises(FaultError) as raised:
            await check_on_triton(place, server, "model")
        assert raised.value.fault is expected
        assert await temporary(server) == []
    assert await answering(triton.addresses.triton_grpc) == {"1"}


@pytest.mark.parametrize("step", ["load", "infer"])
async def test_a_verification_that_is_interrupted_unloads_its_model(
    triton: LocalStack, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    called = asyncio.Event()
    original = getattr(ModelServer, step)

    async def call(*arguments: object) -> object:
        called.set()
        return await original(*arguments)

    monkeypatch.setattr(ModelServer, step, call)
    async with ModelServer(triton.addresses.triton_grpc) as server:
        checking = asyncio.create_task(check_on_triton(find_candidate(NEWEST), server, "model"))
        await called.wait()
        assert len(await temporary(server)) == (step == "infer")
        checking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await checking
        assert await temporary(server) == []


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            'model_warmup { name: "w" batch_size: 1 inputs { key: "ids" value { VALUE } } }',
            "missing required input",
        ),
        ("instance_group { kind: KIND_GPU gpus: [ 99 ] }", "gpu"),
        ('parameters { key: "intra_op_thread_count" value: { string_value: "many" } }', "many"),
    ],
    ids=["model_warmup", "instance_group", "parameters"],
)
async def test_a_configuration_is_loaded_as_it_would_be_served(
    triton: LocalStack, tmp_path: Path, more: str, says: str
) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    graphs.write_config(place, "model")
    config = (
        (place / "config.pbtxt").read_text().replace("instance_group [ { kind: KIND_AUTO count: 2 } ]", "")
    )
    value = 'data_type: TYPE_UINT32 dims: 3 input_data_file: "ids"'
    (place / "config.pbtxt").write_text(f"{config}\n{more.replace('VALUE', value)}\n")
    (place / "warmup").mkdir()
    (place / "warmup" / "ids").write_bytes(bytes(12))
    async with ModelServer(triton.addresses.triton_grpc) as server:
        with pytest.raises(FaultError) as raised:
            await check_on_triton(find_candidate(place), server, "model")
        assert (raised.value.fault, says in raised.value.message.lower()) == (Fault.NOT_LOADED, True)
        assert await temporary(server) == []


async def test_two_versions_are_served_at_once_and_after_a_restart(
    triton: LocalStack, repository: Path
) -> None:
    model, address = repository / "model", triton.addresses.triton_grpc
    for version in ("2", "3"):
        graphs.write_version(model / version, graphs.always(0.5))
    async with ModelServer(address) as server:
        await serve(server, repository, "model", ["1", "2"])
        assert await server.ready("model") == ["1", "2"]
        await server.load("model")
        assert await server.ready("model") == ["1", "2"]
    await asyncio.to_thread(triton.services["triton"].restart)
    assert [await answering(address, version) for version in ("", "1", "2")] == [{"2"}, {"1"}, {"2"}]
    async with ModelServer(address) as server:
        await serve(server, repository, "model", ["1"])
        assert await server.ready("model") == ["1"]
    assert await answering(address) == {"1"}


async def test_no_page_fails_while_what_is_served_changes(triton: LocalStack, repository: Path) -> None:
    address = triton.addresses.triton_grpc
    seen: dict[str, set[str]] = {"": set(), "1": set()}
    is_done = asyncio.Event()

    async def stream(version: str) -> None:
        while not is_done.is_set():
            seen[version] |= await answering(address, version)

    streams = [asyncio.create_task(stream(version)) for version in seen]
    async with ModelServer(address) as server:
        for wanted in (["1"], ["1", "2"], ["1", "2", "3"], ["1", "3"], ["1"]):
            await serve(server, repository, "model", wanted)
            assert await answering(address) == {wanted[-1]}
    is_done.set()
    await asyncio.gather(*streams)
    assert seen["1"] == {"1"}


async def test_a_version_that_cannot_be_loaded_leaves_what_is_served(
    triton: LocalStack, repository: Path
) -> None:
    model, address = repository / "model", triton.addresses.triton_grpc
    graphs.write_version(model / "4", b"no model")
    before = (model / "config.pbtxt").read_text()
    async with ModelServer(address) as server:
        with pytest.raises(ConfigurationError, match=r"not-onnx: .*model/4"):
            await serve(server, repository, "model", ["1", "4"])
        assert (model / "config.pbtxt").read_text() == before
        assert await server.ready("model") == ["1"]
        with pytest.raises(ConfigurationError, match="holds no version 7"):
            await serve(server, repository, "model", ["7"])
    shutil.rmtree(model / "4")
    assert await answering(address) == {"1"}


async def test_a_triton_that_reads_another_repository_is_told(
    triton: LocalStack, repository: Path, tmp_path: Path
) -> None:
    shutil.copytree(repository, tmp_path / "copy")
    async with ModelServer(triton.addresses.triton_grpc) as server:
        with pytest.raises(UnavailableError, match=r"does not read .*copy"):
            await serve(server, tmp_path / "copy", "model", ["1", "2"])
        assert await server.ready("model") == ["1"]


async def test_a_version_beside_the_one_that_answers_is_removed_from_triton(
    triton: LocalStack, repository: Path
) -> None:
    config = repository / "model" / "config.pbtxt"
    async with ModelServer(triton.addresses.triton_grpc) as server:
        await serve(server, repository, "model", ["1", "2"])
        with pytest.raises(ConfigurationError, match="names model/1"):
            await remove_version(Removal(repository, "model", "1"), server)
        config.write_text(config.read_text().replace("specific { versions: [ 1, 2 ] }", "all { }"))
        await server.load("model")
        assert await server.ready("model") == ["1", "2", "3"]
        with pytest.raises(ConfigurationError, match="is the default version"):
            await remove_version(Removal(repository, "model", "3"), server)
        await remove_version(Removal(repository, "model", "1"), server)
        assert await server.ready("model") == ["2", "3"]
    assert not (repository / "model" / "1").exists()


async def test_a_model_that_does_not_end_is_given_up_and_what_is_served_goes_on(
    triton: LocalStack, tmp_path: Path
) -> None:
    place = find_candidate(graphs.write_version(tmp_path / "new", graphs.endless()))
    async with ModelServer(triton.addresses.triton_grpc, timeout=5) as server:
        with pytest.raises(FaultError) as raised:
            await check_on_triton(place, server, "model")
        assert raised.value.fault is Fault.TIMEOUT
        assert await temporary(server) == []
    assert await answering(triton.addresses.triton_grpc) == {"3"}
