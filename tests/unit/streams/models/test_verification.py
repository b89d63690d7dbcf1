"""Versions that are not to be served, each with its reason; in a process of its own."""

import os
import tracemalloc
from pathlib import Path

import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, MODEL_FILE
from dehusk.inference.labelers.signature import STRUCTURE_WITH_PAGE_KIND
from dehusk.streams.models.candidate import find_candidate
from dehusk.streams.models.names import Fault, FaultError
from dehusk.streams.models.onnx_header import read_header
from dehusk.streams.models.verification import check_in_process
from tests.unit.streams.models import graphs


def axis(number: int) -> bytes:
    return graphs.field(1, "axis") + graphs.field(3, number) + graphs.field(20, 2)


def axes(number: int) -> bytes:
    """Reduce one axis, keeping its dimension."""
    return graphs.field(1, "axes") + graphs.field(8, number) + graphs.field(20, 7)


WARMUP = 'model_warmup { name: "w" inputs { key: "x" value { dims: 1 input_data_file: "ids" } } }'


async def fault(place: Path, seconds: float = 30) -> FaultError:
    with pytest.raises(FaultError) as raised:
        await check_in_process(find_candidate(place), place / "no repository", "model", seconds=seconds)
    return raised.value


async def test_a_version_passes_and_is_timed_beside_the_one_that_answers(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    graphs.write_config(tmp_path / "model", "model")
    place = graphs.write_version(tmp_path / "model" / "3", graphs.always(0.5))
    report = await check_in_process(find_candidate(place), tmp_path, "model", seconds=30)
    assert report.signature.startswith("tokens 2 crc32")
    assert report.beside == "model/3"
    assert report.latency_beside is not None
    assert report.latency.answers == report.latency_beside.answers > report.agreement.pages == 4
    assert report.agreement.from_training == report.agreement.in_batches == 0


async def test_a_version_that_tells_kinds_of_pages_passes(tmp_path: Path) -> None:
    content, answers = graphs.with_kinds(), graphs.golden_with_kinds()
    place = graphs.write_version(tmp_path / "model" / "3", content, answers=answers)
    graphs.write_config_of(place.parent, "model", STRUCTURE_WITH_PAGE_KIND)
    report = await check_in_process(find_candidate(place), tmp_path, "model", seconds=30)
    assert report.signature == STRUCTURE_WITH_PAGE_KIND.declared
    assert report.agreement.from_training < 1e-6
    assert report.agreement.in_batches == 0


@pytest.mark.parametrize(
    ("content", "answers", "expected", "says"),
    [
        (graphs.with_kinds(), graphs.golden(), Fault.WRONG_GOLDEN, "has 1 tensors, not 3"),
        (
            graphs.with_kinds(),
            graphs.golden_with_kinds(lambda _: [1.0]),
            Fault.WRONG_GOLDEN,
            "one number for each of its 7 kinds",
        ),
        (
            graphs.with_kinds(),
            graphs.golden_with_kinds(lambda blocks: graphs.kinds_of(blocks + 1)),
            Fault.OTHER_ANSWERS,
            "by 7.2e-01",
        ),
        (
            graphs.with_kinds(likely=1.5),
            graphs.golden_with_kinds(),
            Fault.NOT_PROBABILITIES,
            "between 0 and 1",
        ),
        (
            graphs.with_kinds(likely=float("nan")),
            graphs.golden_with_kinds(),
            Fault.NOT_FINITE,
            "NaN or infinite",
        ),
        (
            graphs.with_kinds(graphs.node("Concat", ["told", "told"], "page_kind", axis(1))),
            graphs.golden_with_kinds(),
            Fault.WRONG_SHAPE,
            "14 probabilities for the 7 kinds of",
        ),
        (
            graphs.with_kinds(graphs.node("ReduceMean", ["told"], "page_kind", axes(0))),
            graphs.golden_with_kinds(),
            Fault.DEPENDS_ON_BATCH,
            "a different number of answers",
        ),
    ],
)
async def test_kinds_of_pages_that_are_not_to_be_served(
    tmp_path: Path, content: bytes, answers: bytes, expected: Fault, says: str
) -> None:
    found = await fault(graphs.write_version(tmp_path / "new", content, answers=answers))
    assert (found.fault, says in found.message) == (expected, True), found.message


@pytest.mark.parametrize("model", ["dehusk", "boilernet"])
async def test_the_versions_that_come_with_dehusk_pass(model: str) -> None:
    (place,) = (DEFAULT_REPOSITORY / model).glob("*/")
    report = await check_in_process(find_candidate(place), DEFAULT_REPOSITORY, "none", seconds=30)
    assert report.agreement.from_training < 1e-5
    assert report.beside == ""


@pytest.mark.parametrize(
    ("content", "expected", "says"),
    [
        (b"", Fault.NOT_ONNX, "no graph"),
        (b"no model", Fault.NOT_ONNX, "cannot be read"),
        (graphs.always(0.5)[:-9], Fault.NOT_ONNX, "cannot be read"),
        (graphs.always(0.5, declared="tokens of tomorrow"), Fault.UNKNOWN_SIGNATURE, "'tokens of tomorrow'"),
        (graphs.always(0.5, less=1), Fault.OTHER_TENSORS, "n_blocks INT32"),
        (graphs.model([graphs.node("Nonsense", ["zeros"], "prob")], []), Fault.NOT_LOADED, "Nonsense"),
        (graphs.always(float("nan")), Fault.NOT_FINITE, "NaN or infinite"),
        (graphs.always(float("inf")), Fault.NOT_FINITE, "NaN or infinite"),
        (graphs.always(1.5), Fault.NOT_PROBABILITIES, "between 0 and 1"),
        (graphs.always(-0.5), Fault.NOT_PROBABILITIES, "between 0 and 1"),
        (graphs.always(0.6), Fault.OTHER_ANSWERS, "differ from the trained model's by 1.0e-01"),
        (graphs.one_number(), Fault.WRONG_SHAPE, "1 probabilities for the 30 blocks of 'article'"),
        (graphs.insatiable(), Fault.NOT_RUN, "alloc"),
        (graphs.batch_dependent(), Fault.DEPENDS_ON_BATCH, "with other pages of the batch"),
    ],
)
async def test_a_model_that_is_not_to_be_served(
    tmp_path: Path, content: bytes, expected: Fault, says: str
) -> None:
    found = await fault(graphs.write_version(tmp_path / "new", content))
    assert found.fault is expected
    assert says in found.message
    assert str(found).startswith(f"{expected}: ")


async def test_a_model_that_does_not_end_is_killed(tmp_path: Path) -> None:
    found = await fault(graphs.write_version(tmp_path / "new", graphs.endless()), seconds=1.5)
    assert found.fault is Fault.TIMEOUT


@pytest.mark.parametrize(
    ("golden", "says"),
    [
        (b"[]", "no answers"),
        (b"{", "holds no golden answers"),
        (b"[1]", "holds no golden answers"),
        (b'[{"name": "notice", "probabilities": ["1"]}]', "holds no golden answers"),
        (b'[{"more": ' + b"[" * 100_000, "holds no golden answers: it nests too deep"),
        (b'[{"name": "\xff", "probabilities": [1]}]', "holds no golden answers"),
        (b'[{"name": "notice", "probabilities": [1e300]}]', "holds no golden answers"),
        (b'[{"name": "../../secret", "probabilities": [1]}]', "no golden page '../../secret'"),
        (b'[{"name": "notice", "probabilities": [0.5]}]', "not one number for each of its 9 blocks"),
        (b'[{"name": "notice", "probabilities": [0.5], "comments": [0.5]}]', "has 2 tensors, not 1"),
    ],
)
async def test_golden_answers_that_are_none(tmp_path: Path, golden: bytes, says: str) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    (place / "golden.json").write_bytes(golden)
    found = await fault(place)
    assert found.fault is Fault.WRONG_GOLDEN
    assert says in found.message


@pytest.mark.parametrize("name", ["model.onnx", "golden.json"])
async def test_a_file_that_is_missing_a_link_a_pipe_or_a_directory(tmp_path: Path, name: str) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    (tmp_path / "outside").write_bytes((place / name).read_bytes())
    (place / name).unlink()
    assert (await fault(place)).fault is Fault.MISSING_FILE
    (place / name).symlink_to(tmp_path / "outside")
    assert (await fault(place)).fault is Fault.SYMBOLIC_LINK
    (place / name).unlink()
    os.mkfifo(place / name)
    assert (await fault(place)).fault is Fault.NOT_A_FILE
    (place / name).unlink()
    (place / name).mkdir()
    assert (await fault(place)).fault is Fault.NOT_A_FILE


async def test_a_model_file_without_a_bound_is_not_read(tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", b"")
    os.truncate(place / MODEL_FILE, 3 << 30)
    assert (await fault(place)).fault is Fault.TOO_LARGE


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("name:", "nonsense:", "cannot be read"),
        ('"onnxruntime"', '"python"', "the backend 'python'"),
        ('name: "new"', 'platform: "ensemble"', "the platform 'ensemble'"),
        ("TYPE_UINT16", "TYPE_UINT8", "other tensors in `input`"),
        ("allow_ragged_batch: true", "allow_ragged_batch: false", "other tensors in `input`"),
        ('source_input: "block_len" }\n]\n\n#', 'source_input: "ids" }\n]\n\n#', "in `batch_output`"),
        ("tokens 2", "tokens 3", "the signature 'tokens 3"),
        ("max_batch_size: 64", "max_batch_size: 0", "no max_batch_size"),
        ('name: "new"', 'default_model_filename: "../other.onnx"', "'../other.onnx'"),
        ('name: "new"', 'cc_model_filenames { key: "9.0" value: "other.onnx" }', "`cc_model_filenames`"),
        ('name: "new"', 'model_operations { op_library_filename: "ops.so" }', "`model_operations`"),
        (
            'name: "new"',
            'model_repository_agents { agents { name: "checksum" } }',
            "`model_repository_agents`",
        ),
        ('name: "new"', 'runtime: "other.so"', "`runtime`"),
        ('key: "intra_op_thread_count"', 'key: "TRITON_BATCH_STRATEGY_PATH"', "`TRITON_BATCH_STRATEGY_PATH`"),
        ('key: "intra_op_thread_count"', 'key: "EXECUTION_ENV_PATH"', "`EXECUTION_ENV_PATH`"),
        ("count: 2", "count: 33 gpus: [ 0, 1 ]", "66 instances"),
        ("instance_group [", f"{64 * 'instance_group {} '}instance_group [", "66 instances"),
        ("count: 2", "count: 65 }, { count: -65", "66 instances"),
        ('name: "new"', WARMUP.replace('name: "w"', 'name: "w" count: 1001'), "1,001 requests"),
        ('name: "new"', WARMUP.replace("dims: 1", "dims: [ 4096, 4097 ]"), "16,781,312 numbers"),
        ('name: "new"', WARMUP.replace("ids", "../ids"), "the file '../ids'"),
        ('name: "new"', WARMUP.replace("ids", "i\\000ds"), "the file 'i\\x00ds'"),
    ],
)
async def test_a_configuration_that_does_not_fit(tmp_path: Path, old: str, new: str, says: str) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    graphs.write_config(place, "new")
    text = (place / "config.pbtxt").read_text()
    assert old in text
    (place / "config.pbtxt").write_text(text.replace(old, new))
    found = await fault(place)
    assert found.fault is Fault.WRONG_CONFIG
    assert says in found.message


@pytest.mark.parametrize(
    "content",
    [
        b"\x08\x01" * 200_000,
        b"\x72\x00" * 20_000_000,
        graphs.field(7, b"\x08\x01" * 60_000) * 2,
        graphs.field(7, graphs.field(11, b"\x18\x01" * 60_000) * 2),
    ],
    ids=["numbers", "properties", "graphs", "inputs"],
)
def test_a_file_of_many_fields_takes_little_memory_and_is_read_no_further(content: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(FaultError, match="over 100,000 fields"):
        read_header(content)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40_000_000


async def test_a_warm_up_that_names_a_missing_file_is_not_to_be_served(tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    graphs.write_config(place, "new")
    with (place / "config.pbtxt").open("a") as config:
        config.write(WARMUP)
    found = await fault(place)
    assert (found.fault, "warmup/ids is missing" in found.message) == (Fault.MISSING_FILE, True)
    (place / "warmup").mkdir()
    (place / "warmup" / "ids").write_bytes(bytes(12))
    await check_in_process(find_candidate(place), tmp_path, "none", seconds=30)


async def test_a_model_file_is_checked_with_the_answers_beside_it(tmp_path: Path) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    (place / "model.onnx").rename(place / "my.onnx")
    report = await check_in_process(find_candidate(place / "my.onnx"), tmp_path, "none", seconds=30)
    assert report.bytes == (place / "my.onnx").stat().st_size


def test_a_candidate_that_the_system_does_not_show_has_a_fault(tmp_path: Path) -> None:
    with pytest.raises(FaultError, match="cannot be read: File name too long"):
        find_candidate(tmp_path / ("m" * 300))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser has all rights")
@pytest.mark.parametrize("mode", [0o100, 0])
def test_a_candidate_that_may_not_be_read_has_a_fault(tmp_path: Path, mode: int) -> None:
    place = graphs.write_version(tmp_path / "new", graphs.always(0.5))
    place.chmod(mode)
    with pytest.raises(FaultError, match=r"new.* cannot be read: Permission denied"):
        find_candidate(place)
