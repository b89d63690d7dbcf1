"""Rules for the repository as a whole."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REGISTRIES = re.compile(
    rb"[.]io\b(?:(?<=\bnvcr[.]io)|(?<=\bdocker[.]io)|(?<=\bghcr[.]io)|(?<=\bquay[.]io)|(?<=\bgcr[.]io))"
)
RELEASE = re.compile(rb"pip install ['\"]?dehus[k](?!\[)")
"""A release, of which there is none; extras of an installed one are added by its name."""
TOP = {"pyproject.toml", "streams", "inference", "model_repository", "schemas", "docker", "tests"}


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """Return the files that git tracks; an unpacked archive has no git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [Path(name) for name in listed.stdout.split("\0") if name]


@pytest.fixture(scope="module")
def contents(files: list[Path]) -> dict[Path, bytes]:
    return {file: (ROOT / file).read_bytes() for file in files if (ROOT / file).is_file()}


@pytest.mark.parametrize("words", [REGISTRIES, RELEASE], ids=["registry", "release"])
def test_no_registry_of_images_and_no_release_on_a_package_index_is_named(
    contents: dict[Path, bytes], words: re.Pattern[bytes]
) -> None:
    assert [str(file) for file, content in contents.items() if words.search(content)] == []


def test_the_top_level_has_what_everything_else_relies_on(files: list[Path]) -> None:
    assert {file.parts[0] for file in files} >= TOP


def test_pages_of_the_documentation_that_are_named_exist(contents: dict[Path, bytes]) -> None:
    named = {
        (str(file), page.decode())
        for file, content in contents.items()
        if ".lock" not in file.name and "crds" not in file.parts
        for page in re.findall(rb"(?<![\w/.])docs/[\w/-]+[.]md", content)
    }
    assert {(file, page) for file, page in named if not (ROOT / page).is_file()} == set()


def test_no_file_is_larger_than_a_model(contents: dict[Path, bytes]) -> None:
    sizes = {file: len(content) for file, content in contents.items()}
    assert {file: size for file, size in sizes.items() if size > 1 << 20 and file.suffix != ".onnx"} == {}


def test_continuous_integration_runs_what_the_readme_says() -> None:
    script = (ROOT / ".ci/run").read_text()
    assert "make test " in script
    assert "make docs " in script
    assert "make test-training" in script
    assert 'grep "browser tests left out" "$log"' in script
    subprocess.run(["bash", "-n", ROOT / ".ci/run"], check=True)


@pytest.mark.parametrize(
    ("asked_for", "packages"),
    [
        ("*ensurepip*", "python3.11-venv"),
        ("*which*", "gcc libc6-dev"),
        ("*Python.h*", "python3.11-dev"),
        ("*ctypes*", "libpython3.11"),
        ("*ensurepip*|*which*|*ctypes*", "python3.11-venv gcc libc6-dev libpython3.11"),
    ],
)
def test_missing_prerequisites_are_named_in_one_line(tmp_path: Path, asked_for: str, packages: str) -> None:
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\ncase "$*" in {asked_for}) exit 1;; *print*) echo 3.11;; esac\n')
    python.chmod(0o755)
    told = subprocess.run(
        ["make", "--no-print-directory", "--file", ROOT / "Makefile", "setup", f"PYTHON={python}"],
        cwd=_checkout(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode != 0
    assert told.stdout.splitlines() == [
        f"Packages are missing; install them with: sudo apt-get install {packages}"
    ]


def _checkout(folder: Path) -> Path:
    for name in ("requirements.lock", "pyproject.toml", "setup.py"):
        (folder / name).touch()
    return folder
