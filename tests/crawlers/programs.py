"""The programs that the tests run: crawlers, what builds them, and dehusk."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from dehusk.streams.local.process import Program

ROOT = Path(__file__).parents[2]
PROJECTS = Path(__file__).parent / "projects"
"""Configurations of crawlers, a folder each."""
CACHE = ROOT / ".cache" / "crawlers"
"""Folder of what is fetched once."""


@dataclass(frozen=True)
class Command(Program):
    """A program that runs until it is stopped."""

    name: str
    words: Sequence[str]
    ready: Callable[[], bool] = lambda: True

    def command(self) -> Sequence[str]:
        return self.words

    def is_ready(self) -> bool:
        return self.ready()


def run(command: Sequence[str | Path], folder: Path | None = None, *, status: int = 0) -> str:
    """Return the output of a program; where it did not end with this status, fail with what it said."""
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert ended.returncode == status, f"{ended.args}\n{ended.stdout[-8000:]}\n{ended.stderr[-8000:]}"
    return ended.stdout


def needs(program: str, packages: str) -> None:
    """Skips the test where a program is missing."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is missing; install it with: sudo apt-get install {packages}")


def needs_python(version: str) -> Path:
    """A Python of this minor version, as the system or pyenv has it; skips the test where there is none."""
    found = shutil.which(f"python{version}")
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for python in (*pyenv, *([Path(found)] if found else [])):
        return python
    pytest.skip(f"Python {version} is missing; install it with: pyenv install {version}")


def environment(project: str, python: Path) -> Path:
    """The Python of an environment that has the packages that a project requires; it is made once."""
    folder = CACHE / project
    if not (folder / "ready").exists():
        run([python, "-m", "venv", "--clear", folder])
        run([folder / "bin" / "pip", "install", "--quiet", "-r", PROJECTS / project / "requirements.txt"])
        (folder / "ready").touch()
    return folder / "bin" / "python"


def maven(project: Path, *words: str) -> None:
    """Runs Maven in a project; what it fetches is kept."""
    needs("mvn", "maven default-jdk-headless")
    run(["mvn", "--batch-mode", "--quiet", f"-Dmaven.repo.local={CACHE / 'maven'}", *words], project)


def classpath(project: Path) -> str:
    """The classpath of a Maven project: its own classes, compiled, and the jars it depends on."""
    maven(project, "compile", "dependency:build-classpath", "-Dmdep.outputFile=target/classpath")
    return f"{project / 'target' / 'classes'}:{(project / 'target' / 'classpath').read_text()}"


def npm(project: Path) -> None:
    """Installs the packages of a project from npm; what it fetches is kept."""
    needs("npm", "nodejs npm")
    options = ["--ignore-scripts", "--no-audit", "--no-fund", f"--cache={CACHE / 'npm'}"]
    run(["npm", "install", *options], project)


def go(project: Path, *words: str) -> None:
    """Runs Go in a project; what it fetches is kept, in folders that can be removed."""
    needs("go", "golang")
    run(["env", f"GOMODCACHE={CACHE / 'go'}", "GOFLAGS=-modcacherw", "go", *words], project)
