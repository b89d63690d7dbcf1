"""Fine-tuning of a model on what was labeled, by the training framework in a process of its own.

The framework is in another environment, so nothing of it is imported. It reads files, while pages may come
from a topic or standard input, and labels go on changing: what to learn from is written into a folder first.
"""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

import orjson

import dehusk
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.schemas.errors import DehuskError
from dehusk.schemas.pages import ModelVersion, RawPage
from dehusk.streams.files.page_lines import read_page_line
from dehusk.streams.folders import writing
from dehusk.streams.labeling.labels_file import LabelsFile, labels_line
from dehusk.streams.labeling.session import LabelState, Session
from dehusk.streams.labeling.store import PageStore
from dehusk.streams.local.process import guarded
from dehusk.streams.models.store import next_version
from dehusk.streams.settings import PageLimits
from dehusk.streams.wording import pluralize, printable

CHECKOUT_PYTHON = Path(dehusk.__file__).resolve().parents[1] / ".venv-training" / "bin" / "python"
"""Interpreter of the training environment that `make setup-training` makes in a checkout."""
_MAX_UNLABELED = 200
"""Pages without labels that are written; the command looks at no more."""
_NOT_BETTER = 3
"""Exit status of the command where the new version is not better."""
_NOT_STARTED = (126, 127)
_MAX_LINES, _MAX_LINE_BYTES, _CHUNK_BYTES = 50, 8192, 65_536
_ADVICE = "make setup-training makes an environment that has it, and --training names its interpreter"


@dataclass(frozen=True, slots=True)
class Training:
    """Training environment, and the version of a model that is fine-tuned in it."""

    python: Path
    """Interpreter of the environment."""
    repository: Path
    model: str
    version: str
    """Version that is made better; empty for the trusted one of the repository."""
    directory: Path
    """Folder of the pages and labels that are learned from, and of new versions."""

    def base(self) -> ModelVersion:
        """Return the version that is made better.

        Raises:
            ConfigurationError: the repository holds no such version.
        """
        return find_model(self.repository, self.model, self.version)[0]

    def target(self) -> ModelVersion:
        """Return the next version, which neither the repository nor the folder has or had."""
        return ModelVersion(self.model, next_version(self.model, self.repository, self.directory))

    def repository_option(self) -> str:
        """Return the option by which further commands find the repository; empty for that of dehusk."""
        if self.repository == DEFAULT_REPOSITORY:
            return ""
        return f" --model-repository {shlex.quote(str(self.repository.absolute()))}"

    def command(self, base: ModelVersion, target: ModelVersion) -> list[str]:
        """Return the command that makes the new version."""
        options = {
            "--labels": self.directory / "labels.jsonl",
            "--from": f"{base.name}/{base.version}",
            "--version": target.version,
            "--directory": self.directory,
            "--repository": self.repository,
        }
        words = [str(word) for option in options.items() for word in option]
        pages = str(self.directory / "pages.jsonl")
        return [str(self.python.absolute()), "-m", "dehusk.training", "fine-tune", *words, pages]


class TuningState(StrEnum):
    """State of the last fine-tuning."""

    IDLE = "idle"
    """There was none."""
    RUNNING = "running"
    WRITTEN = "written"
    NOT_BETTER = "not-better"
    ENDED = "ended"
    """It was ended before it was done."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """End of a fine-tuning, and the commands that go on from there."""

    state: TuningState
    message: str
    next: Sequence[str] = ()


class FineTuner:
    """Fine-tuning on the pages of a session, one at a time; it ends with this process, however that ends."""

    def __init__(self, training: Training, session: Session, store: PageStore, file: LabelsFile) -> None:
        self._training = training
        self._session = session
        self._store = store
        self._file = file
        self._task: asyncio.Task[_Outcome] | None = None
        self._progress: deque[str] = deque(maxlen=_MAX_LINES)
        self._result: deque[str] = deque(maxlen=_MAX_LINES)

    @property
    def overview(self) -> dict[str, Any]:
        """The last fine-tuning: its state, and the last lines of what the command said and found."""
        if self._task is None:
            outcome = _Outcome(TuningState.IDLE, "")
        elif self._task.cancelled():
            outcome = _Outcome(TuningState.ENDED, "Nothing is written, as it was ended.")
        elif self._task.done():
            outcome = self._task.result()
        else:
            outcome = _Outcome(TuningState.RUNNING, "")
        return {
            "state": outcome.state,
            "message": outcome.message,
            "progress": list(self._progress),
            "result": list(self._result),
            "next": list(outcome.next),
        }

    def start(self) -> None:
        """Start a fine-tuning, unless one runs."""
        if self._task is None or self._task.done():
            self._progress.clear()
            self._result.clear()
            self._task = asyncio.create_task(self._tune())

    async def aclose(self) -> None:
        """End the fine-tuning that runs; nothing is written then."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _tune(self) -> _Outcome:
        try:
            base, target = self._training.base(), self._training.target()
            await self._write_input()
            command = self._training.command(base, target)
            return self._outcome(await self._run(command, target), command, target)
        except DehuskError as error:
            return _Outcome(TuningState.FAILED, str(error))

    async def _write_input(self) -> None:
        """Write the pages to learn from, with their labels, and some without.

        Raises:
            ConfigurationError: they cannot be written.
        """
        folder, given = self._training.directory, dict(self._file.labels)
        labeled = unlabeled = 0
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / "pages.jsonl").open("wb") as pages, (folder / "labels.jsonl").open("wb") as labels:
                for number, state in enumerate(self._session.states):
                    is_labeled = state is LabelState.LABELED
                    if state is LabelState.REFUSED or not (is_labeled or unlabeled < _MAX_UNLABELED):
                        continue
                    page = self._store.page(number)
                    assert page is not None  # noqa: S101 -- those that have none are refused
                    if is_labeled and not await self._session.fits(number):
                        self._progress.append(
                            f"left out {printable(page.name)}: its labels are of other blocks"
                        )
                        continue
                    if not await asyncio.to_thread(_write_page, page, pages):
                        self._progress.append(
                            f"left out {printable(page.name)}: no line of JSON holds it as it is"
                        )
                        continue
                    if is_labeled:
                        labels.write(labels_line(given[page.name]))
                    labeled += is_labeled
                    unlabeled += not is_labeled
        self._progress.append(f"learning from {pluralize(labeled, 'page')}, all of whose blocks are labeled")

    async def _run(self, command: Sequence[str], target: ModelVersion) -> int:
        """Run a command at low priority; return its exit status, and keep its last lines.

        If it is ended when the version is there, it has succeeded.
        """
        process = await asyncio.create_subprocess_exec(
            *guarded(["nice", "-n", "19", *command]),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None and process.stderr is not None  # noqa: S101, PT018 -- both are pipes
        reading = asyncio.gather(
            _keep_lines(process.stdout, self._result), _keep_lines(process.stderr, self._progress)
        )
        try:
            await asyncio.shield(reading)
            return await process.wait()
        except asyncio.CancelledError:
            if self._folder_of(target).exists():
                return 0
            raise
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGQUIT)  # the guard ends all that it started
            await reading  # a pipe that is full would keep the process waiting
            await process.wait()

    def _folder_of(self, target: ModelVersion) -> Path:
        return self._training.directory / target.name / target.version

    def _outcome(self, status: int, command: Sequence[str], target: ModelVersion) -> _Outcome:
        name = f"{target.name}/{target.version}"
        if status == 0:
            folder = shlex.quote(str(self._folder_of(target)))
            inside = self._training.repository_option()
            return _Outcome(
                TuningState.WRITTEN,
                f"{name} is written, and better on pages like yours. It serves once it is rolled out:",
                (
                    f"dehusk model verify {folder}{inside} --labeler onnx",
                    f"dehusk model add {folder}{inside} --hold",
                    f"dehusk model shadow {name}{inside} --share 1 --wait",
                    f"dehusk model canary {name}{inside} --share 0.05 --wait",
                    f"dehusk model promote {name}{inside} --wait",
                ),
            )
        if status == _NOT_BETTER:
            return _Outcome(
                TuningState.NOT_BETTER,
                "Nothing is written, as the gain is within chance. Label more pages, above all such as are "
                "cleaned worst, or mend labels that contradict each other. To have the version all the same:",
                (shlex.join([*command, "--force"]),),
            )
        last = self._progress[-1] if self._progress else ""
        if status in _NOT_STARTED or "No module named" in last:
            return _Outcome(
                TuningState.FAILED, f"{self._training.python} has no training framework: {_ADVICE}"
            )
        if self._progress:
            self._progress.pop()  # the message holds it
        return _Outcome(
            TuningState.FAILED, f"Nothing is written; the command ended with status {status}: {last}"
        )


def _write_page(page: RawPage, file: BinaryIO) -> bool:
    """Write a page as a line; return False, and write nothing, if the line would not be read as the page."""
    fields = {"id": page.id, "url": page.url, "html": page.html.decode()}
    line = orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
    read = read_page_line(line, PageLimits().max_bytes)
    if not isinstance(read, RawPage) or (read.name, read.html) != (page.name, page.html):
        return False
    file.write(line)
    return True


async def _keep_lines(stream: asyncio.StreamReader, lines: deque[str]) -> None:
    """Keep the last lines of a stream, the beginning of each, until it ends."""
    rest = b""
    while chunk := await stream.read(_CHUNK_BYTES):
        *whole, rest = (rest + chunk).split(b"\n")
        lines.extend(_shown(line) for line in whole)
        rest = rest[:_MAX_LINE_BYTES]
    if rest:
        lines.append(_shown(rest))


def _shown(line: bytes) -> str:
    return printable(line[:_MAX_LINE_BYTES].decode(errors="replace"))
