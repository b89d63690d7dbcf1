"""Fine-tuning from the labeling tool; a script stands for the training environment, which is another one."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, versions
from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.files.readers import read_pages
from dehusk.streams.labeling.fine_tuning import FineTuner, Training
from dehusk.streams.labeling.labels_file import open_labels_file, read_labels_file
from dehusk.streams.labeling.session import Session
from dehusk.streams.labeling.store import open_store
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.settings import MIB
from tests.settling import left_running

PAGES = [
    RawPage("https://example.org/a", "<title>É</title><p>One<p>Zwei ß".encode(), "a"),
    RawPage("https://example.org/b", b"<p>Half<p>labeled"),
    RawPage("https://example.org/c", b"<p>No label\r\n</p>\xef\xbf\xbd\0"),
    RawPage("https://example.org/pdf", b"%PDF-1.4 as it never is read from a file"),
    Broken(BrokenReason.PAGE_TOO_LARGE, "2 bytes", "https://example.org/large"),
]
NEWEST = int(versions(DEFAULT_REPOSITORY, "dehusk")[-1])
Tune = Callable[..., AbstractAsyncContextManager[FineTuner]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "fine-tuned"


@pytest.fixture
def tune(labels_path: Path, folder: Path, tmp_path: Path, pool: PreparationPool) -> Tune:
    """Opens a tuner whose environment is a script, or at a path."""

    @asynccontextmanager
    async def opened(
        environment: str | Path, repository: Path = DEFAULT_REPOSITORY
    ) -> AsyncIterator[FineTuner]:
        python = environment if isinstance(environment, Path) else tmp_path / "python"
        if isinstance(environment, str):
            python.write_text(f"#!/bin/sh\n{environment}\n")
            python.chmod(0o755)
        with open_store(PAGES) as store, open_labels_file(labels_path) as file:
            session = Session(store, file, pool, RulesLabeler())
            await session.save(0, [1, 0], "", replaces=False)
            await session.save(1, [1, None], "", replaces=False)
            training = Training(python, repository, "dehusk", "", folder)
            async with aclosing(FineTuner(training, session, store, file)) as tuner:
                yield tuner

    return opened


async def ended(tuner: FineTuner) -> dict[str, Any]:
    """Fine-tune, and return the overview at the end."""
    tuner.start()
    return await shown_once(tuner, lambda shown: shown["state"] != "running")


async def shown_once(tuner: FineTuner, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the overview once it fits."""
    while not fits(shown := tuner.overview):  # noqa: ASYNC110 nobody sets an event
        await asyncio.sleep(0.01)
    return shown


async def test_it_learns_from_what_is_labeled_and_says_how_to_go_on(tune: Tune, folder: Path) -> None:
    async with tune("echo half way >&2; echo F1 0.9 before, 0.95 after; echo $*") as tuner:
        assert tuner.overview["state"] == "idle"
        shown = await ended(tuner)
    new, version = folder / f"dehusk/{NEWEST + 1}", f"dehusk/{NEWEST + 1}"
    command = (
        f"-m dehusk.training fine-tune --labels {folder}/labels.jsonl --from dehusk/{NEWEST} --version "
        f"{NEWEST + 1} --directory {folder} --repository {DEFAULT_REPOSITORY} {folder}/pages.jsonl"
    )
    assert shown["state"] == "written"
    assert shown["result"] == ["F1 0.9 before, 0.95 after", command]
    assert shown["progress"] == [
        "left out https://example.org/pdf: no line of JSON holds it as it is",
        "learning from 1 page, all of whose blocks are labeled",
        "half way",
    ]
    assert shown["next"][:2] == [
        f"dehusk model verify {new} --labeler onnx",
        f"dehusk model add {new} --hold",
    ]
    assert shown["next"][-1] == f"dehusk model promote {version} --wait"
    assert list(read_labels_file(folder / "labels.jsonl")) == ["a"]
    read = list(read_pages([folder / "pages.jsonl"], MIB))
    assert [(page.url, page.id, page.html) for page in read if isinstance(page, RawPage)] == [
        (page.url, page.id, page.html) for page in PAGES[:3] if isinstance(page, RawPage)
    ]


async def test_the_next_commands_name_the_repository_that_it_began_with(tune: Tune, tmp_path: Path) -> None:
    version = tmp_path / "my models" / "dehusk" / "7"
    version.mkdir(parents=True)
    (version / "model.onnx").touch()
    async with tune("exit 0", tmp_path / "my models") as tuner:
        commands = (await ended(tuner))["next"]
    assert [f" --model-repository '{tmp_path}/my models' " in command for command in commands] == [True] * 5


async def test_labels_of_other_blocks_are_left_out(tune: Tune, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fits(_session: Session, _number: int) -> bool:
        return False

    monkeypatch.setattr(Session, "fits", fits)
    async with tune("echo learned") as tuner:
        shown = await ended(tuner)
    assert "left out a: its labels are of other blocks" in shown["progress"]
    assert "learning from 0 pages, all of whose blocks are labeled" in shown["progress"]


async def test_the_next_version_is_one_that_is_nowhere(tune: Tune, folder: Path) -> None:
    (folder / "dehusk" / str(NEWEST + 4)).mkdir(parents=True)
    async with tune("exit 0") as tuner:
        assert f"dehusk/{NEWEST + 5} is written" in (await ended(tuner))["message"]


@pytest.mark.parametrize(
    ("environment", "state", "message", "following"),
    [
        ("exit 3", "not-better", "Nothing is written, as the gain is within chance. Label more", "--force"),
        ("exit 3", "not-better", "cleaned worst, or mend labels that contradict each other.", "--force"),
        ("echo Error: too few >&2; exit 1", "failed", "ended with status 1: Error: too few", None),
        ("kill -9 $$", "failed", "ended with status 137", None),
        (Path(sys.executable), "failed", "onnx is not installed here; .venv-training has it", None),
        (Path("none"), "failed", "none has no training framework: make setup-training makes an", None),
        ("echo No module named dehusk >&2; exit 1", "failed", "--training names its interpreter", None),
    ],
)
async def test_an_end_without_a_version_says_why(
    tune: Tune, environment: str | Path, state: str, message: str, following: str | None
) -> None:
    async with tune(environment) as tuner:
        shown = await ended(tuner)
    assert (shown["state"], message in shown["message"]) == (state, True)
    assert [command.rsplit(" ", 1)[1] for command in shown["next"]] == ([following] if following else [])


async def test_why_it_failed_is_said_once(tune: Tune) -> None:
    async with tune("echo part 1 of 5 >&2; echo Error: too few >&2; exit 1") as tuner:
        shown = await ended(tuner)
    assert shown["message"] == "Nothing is written; the command ended with status 1: Error: too few"
    assert shown["progress"][-1] == "part 1 of 5"


async def test_a_folder_that_cannot_be_written_is_named(tune: Tune, folder: Path) -> None:
    folder.touch()  # noqa: ASYNC240 -- nothing else runs
    async with tune("exit 0") as tuner:
        assert (await ended(tuner))["message"].startswith(f"cannot write {folder}: ")


async def test_one_runs_at_a_time_and_ends_with_the_tool(tune: Tune, tmp_path: Path) -> None:
    async with tune(f"echo $$ >> {tmp_path}/pids; echo runs >&2; sleep 600") as tuner:
        tuner.start()
        await shown_once(tuner, lambda shown: "runs" in shown["progress"])
        tuner.start()
        (pid,) = (tmp_path / "pids").read_text().split()
        process = psutil.Process(int(pid))
        assert (process.nice(), tuner.overview["state"]) == (19, "running")
        processes = [process, *process.children()]
    assert left_running(processes) == []
    assert (tmp_path / "pids").read_text().split() == [pid]


async def test_it_is_ended_with_all_that_it_started_and_starts_again(tune: Tune, tmp_path: Path) -> None:
    async with tune(f"echo $$ >> {tmp_path}/pids; echo runs >&2; sleep 600") as tuner:
        for _ in range(2):
            tuner.start()
            await shown_once(tuner, lambda shown: "runs" in shown["progress"])
            process = psutil.Process(int((tmp_path / "pids").read_text().split()[-1]))
            await tuner.aclose()
            assert (tuner.overview["state"], tuner.overview["next"]) == ("ended", [])
            assert left_running([process]) == []


@pytest.mark.parametrize("to", ["", " >&2"])
async def test_it_is_ended_amid_what_it_says(tune: Tune, to: str) -> None:
    async with tune(f"yes{to}") as tuner:
        for _ in range(5):
            tuner.start()
            await shown_once(tuner, lambda shown: {"y"} & {*shown["progress"], *shown["result"]})
            await asyncio.wait_for(tuner.aclose(), 30)
            assert tuner.overview["state"] == "ended"


async def test_a_version_that_is_there_when_it_is_ended_is_written(tune: Tune, folder: Path) -> None:
    version = f"dehusk/{NEWEST + 1}"
    async with tune(f"mkdir -p {folder}/{version}; echo wrote >&2; sleep 600") as tuner:
        tuner.start()
        await shown_once(tuner, lambda shown: "wrote" in shown["progress"])
        await tuner.aclose()
        shown = tuner.overview
    assert (shown["state"], shown["message"].split(", ")[0]) == ("written", f"{version} is written")


async def test_its_output_is_bounded(tune: Tune) -> None:
    script = "i=0; while [ $i -lt 999 ]; do i=$((i+1)); echo $i; done; head -c 300000 /dev/zero | tr '\\0' x"
    async with tune(script) as tuner:
        *lines, last = (await ended(tuner))["result"]
    assert (len(lines), lines[-1]) == (49, "999")
    assert last == "x" * len(last)
    assert len(last) <= 8192
