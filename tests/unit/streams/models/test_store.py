"""Versions that appear and disappear on disk: at once, or not at all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dehusk.inference.labelers.repository import find_model, models, served, versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.models.candidate import Candidate, find_candidate
from dehusk.streams.models.lifecycle import Removal, add_version, remove_version
from dehusk.streams.models.names import Fault, FaultError
from dehusk.streams.models.store import copy_version, next_version, staging, withdrawn, write_config
from tests.unit.streams.models import graphs

STAGE_AND_WAIT = """
import sys
from pathlib import Path
from dehusk.streams.models.store import staging
with staging(Path(sys.argv[1])) as place:
    (place / "version").mkdir()
    print("staged", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return graphs.write_repository(tmp_path / "repository")


@pytest.fixture
def candidate(tmp_path: Path) -> Candidate:
    return find_candidate(graphs.write_version(tmp_path / "new", graphs.always(0.25), 0.25))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


async def passes(copied: Candidate) -> None:
    """Sees the copy, which is no version yet."""
    repository = copied.model.parents[3]
    assert versions(repository, "model") == ["1", "9"]
    assert models(repository) == ["model"]
    assert copied.model.read_bytes() == graphs.always(0.25)


async def fails(copied: Candidate) -> None:
    raise FaultError(Fault.NOT_FINITE, "an answer is NaN")


async def test_a_number_that_another_one_takes_meanwhile_leaves_the_policy_as_it_was(
    repository: Path, candidate: Candidate
) -> None:
    before = (repository / "model" / "config.pbtxt").read_text()

    async def slowly(_: Candidate) -> None:
        (repository / "model" / "10").mkdir()

    with pytest.raises(ConfigurationError, match="exists"):
        await add_version(candidate, repository, "model", "10", slowly, hold=True)
    assert (repository / "model" / "config.pbtxt").read_text() == before


async def test_a_version_is_added_whole(repository: Path, candidate: Candidate) -> None:
    assert next_version("model", repository) == "10"
    added = await add_version(candidate, repository, "model", "10", passes, hold=False)
    assert contents(added.directory) == contents(candidate.model.parent)
    assert sorted(each.name for each in added.directory.parent.iterdir()) == ["1", "10", "9", "config.pbtxt"]
    assert find_model(repository, "model")[0].version == "10"


def test_the_next_version_is_in_no_repository_be_it_whole_begun_or_removed(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert next_version("model", one, other) == "1"
    for folder in (
        one / "model" / "3",
        one / "model" / "20-new",
        other / "model" / "5",
        other / "third" / "9",
    ):
        folder.mkdir(parents=True)
    assert (next_version("model", one), next_version("model", one, other)) == ("4", "6")
    (one / "model" / ".removed-versions").write_text("7\n")
    assert next_version("model", one, other) == "8"


async def test_a_version_that_is_held_is_not_served(repository: Path, candidate: Candidate) -> None:
    await add_version(candidate, repository, "model", "10", None, hold=True)
    assert served(repository, "model") == ["9"]
    assert find_model(repository, "model")[0].version == "9"
    await add_version(candidate, repository, "model", "11", None, hold=True)
    assert served(repository, "model") == ["9"]


async def test_what_fails_leaves_the_repository_as_it_was(repository: Path, candidate: Candidate) -> None:
    before = contents(repository)
    with pytest.raises(FaultError, match="not-finite"):
        await add_version(candidate, repository, "model", "10", fails, hold=True)
    with pytest.raises(ConfigurationError, match="immutable"):
        await add_version(candidate, repository, "model", "9", None, hold=True)
    candidate.model.write_bytes(graphs.always(0.5, declared="tokens of tomorrow"))
    with pytest.raises(FaultError, match="unknown-signature"):
        await add_version(candidate, repository, "model", "10", None, hold=True)
    assert contents(repository) == before


async def test_a_version_of_another_signature_needs_another_configuration(
    repository: Path, candidate: Candidate
) -> None:
    (repository / "model" / "config.pbtxt").write_text(
        'name: "model" backend: "onnxruntime" max_batch_size: 4'
    )
    with pytest.raises(FaultError, match="wrong-config"):
        await add_version(candidate, repository, "model", "10", None, hold=False)
    assert versions(repository, "model") == ["1", "9"]


async def test_a_version_that_somebody_else_adds_meanwhile_is_kept(
    repository: Path, candidate: Candidate
) -> None:
    async def another(copied: Candidate) -> None:
        graphs.write_version(repository / "model" / "10", b"of somebody else")

    with pytest.raises(ConfigurationError, match="immutable"):
        await add_version(candidate, repository, "model", "10", another, hold=False)
    assert (repository / "model" / "10" / "model.onnx").read_bytes() == b"of somebody else"


async def test_a_new_model_takes_its_configuration_along(repository: Path, candidate: Candidate) -> None:
    with pytest.raises(FaultError, match=r"config\.pbtxt"):
        await add_version(candidate, repository, "other", "1", None, hold=False)
    assert models(repository) == ["model"]
    graphs.write_config(candidate.model.parent, "as trained")
    candidate = find_candidate(candidate.model.parent)
    await add_version(candidate, repository, "other", "1", None, hold=False)
    assert models(repository) == ["model", "other"]
    assert 'name: "other"' in (repository / "other" / "config.pbtxt").read_text()
    assert not (repository / "other" / "1" / "config.pbtxt").exists()
    assert {Path(file).parts[0] for file in contents(repository)} == {"model", "other"}


def test_links_are_not_copied(tmp_path: Path, candidate: Candidate) -> None:
    card = candidate.model.with_name("card.md")
    card.symlink_to("/etc/hostname")
    with pytest.raises(FaultError, match="symbolic-link"):
        copy_version(find_candidate(candidate.model.parent), tmp_path / "copy")


def test_what_a_killed_process_staged_is_removed_and_what_a_running_one_staged_is_not(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", STAGE_AND_WAIT, tmp_path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "staged\n"
    killed, running = processes
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert len(list(tmp_path.iterdir())) == 2
    with staging(tmp_path):
        assert len(list(tmp_path.iterdir())) == 2
    assert len(list(tmp_path.iterdir())) == 1
    running.communicate()
    assert running.returncode == 0
    assert list(tmp_path.iterdir()) == []


async def test_a_version_is_removed(repository: Path) -> None:
    await remove_version(Removal(repository, "model", "1"), None)
    assert sorted(each.name for each in (repository / "model").iterdir()) == [
        ".removed-versions",
        "9",
        "config.pbtxt",
    ]


@pytest.mark.parametrize(
    ("policy", "version", "says"),
    [
        ("latest { num_versions: 1 }", "9", "is the default version"),
        ("specific { versions: [ 1 ] }", "1", "is the default version"),
        ("specific { versions: [ 1, 9 ] }", "1", "names model/1: serve others first"),
        ("all { }", "10", "versions there: 1, 9"),
    ],
)
async def test_a_version_that_is_needed_is_not_removed(
    repository: Path, policy: str, version: str, says: str
) -> None:
    config = repository / "model" / "config.pbtxt"
    config.write_text(config.read_text().replace("latest { num_versions: 1 }", policy))
    before = contents(repository)
    with pytest.raises(ConfigurationError, match=says):
        await remove_version(Removal(repository, "model", version), None)
    assert contents(repository) == before


async def test_the_only_version_is_not_removed(repository: Path) -> None:
    await remove_version(Removal(repository, "model", "1"), None)
    with pytest.raises(ConfigurationError, match="the only version"):
        await remove_version(Removal(repository, "model", "9"), None)


def test_a_removal_that_fails_puts_the_version_back(repository: Path) -> None:
    before = contents(repository)

    def refuse() -> None:
        assert versions(repository, "model") == ["9"]
        raise ConfigurationError("Triton refuses")

    with pytest.raises(ConfigurationError, match="Triton refuses"), withdrawn(repository / "model" / "1"):
        refuse()
    assert contents(repository) == before


def test_a_configuration_is_replaced_at_once(repository: Path) -> None:
    write_config(repository / "model", "new")
    assert (repository / "model" / "config.pbtxt").read_text() == "new"
    assert sorted(each.name for each in (repository / "model").iterdir()) == ["1", "9", "config.pbtxt"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot write .*nowhere"), staging(tmp_path / "nowhere"):
        pass
