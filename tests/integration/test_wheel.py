"""The wheel, built from what git has, and installed beside packages that are called like our folders."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = "<nav><a href=/>Home</a></nav><main><p>" + "A paragraph of prose, long enough to be content. " * 3


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, built = tmp_path_factory.mktemp("source") / "dehusk", tmp_path_factory.mktemp("wheel")
    left_out = shutil.ignore_patterns(".*", "build", "*.egg-info", "*.so", "*.c", "__pycache__", "tests")
    shutil.copytree(ROOT, source, symlinks=True, ignore=left_out)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run([*command, "--wheel-dir", built, source], check=True, timeout=600)
    (file,) = built.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and with somebody's own modules; its dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--target", folder]
    subprocess.run([*command, wheel], check=True)
    for name in ("schemas", "inference", "streams", "training", "model_repository"):
        (folder / f"{name}.py").write_text("WHOSE = 'mine'\n")
    return folder


def run(installed: Path, code: str) -> str:
    """Return the output of code that is run far from the checkout."""
    environment = os.environ | {"PYTHONPATH": str(installed)}
    return subprocess.check_output([sys.executable, "-c", code], cwd=installed, env=environment, text=True)


def test_one_package_is_installed_with_its_types(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"dehusk"}
    assert "dehusk/py.typed" in names


def test_the_default_model_alone_is_in_it(wheel: Path) -> None:
    folders = {
        Path(name).parts[2] for name in zipfile.ZipFile(wheel).namelist() if "/model_repository/" in name
    }
    assert folders == {"dehusk"}


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        ("streams/worker/monitoring/static", {"index.html", "uPlot-LICENSE.txt"}),
        ("streams/worker/inspector/static", {"index.html", "inspect.js", "inspect.css"}),
    ],
)
def test_the_files_of_the_monitoring_pages_are_in_it(wheel: Path, folder: str, files: set[str]) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    found = {Path(name).name for name in names if name.startswith(f"dehusk/{folder}/")}
    assert found == {file.name for file in (ROOT / folder).iterdir()} >= files


def test_no_source_of_a_test_or_of_a_compiler_is_in_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if name.endswith((".c", ".pyc")) or "/tests/" in name] == []


def test_it_stands_beside_packages_of_the_same_names_as_its_parts(installed: Path) -> None:
    said = run(
        installed,
        "import dehusk, schemas, inference, streams, training, model_repository as models\n"
        "assert {each.WHOSE for each in (schemas, inference, streams, training, models)} == {'mine'}\n"
        f"print(dehusk.__file__, dehusk.extract({PAGE!r}).text)",
    )
    assert said.startswith(f"{installed}/dehusk/__init__.py A paragraph of prose")
    assert "Home" not in said


def test_a_model_that_is_not_in_it_is_named_with_those_that_are(installed: Path) -> None:
    said = run(
        installed,
        "import dehusk\n"
        "try: dehusk.Extractor(model='boilernet')\n"
        "except dehusk.ConfigurationError as error: print(error)",
    )
    assert "no model 'boilernet'; models there: dehusk" in said


def test_the_command_cleans_pages(installed: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-m", "dehusk", "clean", "--processes", "1", "--no-blocks"]
    ended = subprocess.run(
        command, cwd=installed, env=environment, input=PAGE, text=True, capture_output=True, check=True
    )
    assert '"text":"A paragraph of prose' in ended.stdout


def test_its_types_are_those_of_the_interface(installed: Path) -> None:
    (installed / "typed.py").write_text(
        "import dehusk\ntext: str = dehusk.extract('').text\nnumber: int = dehusk.extract('').text\n"
    )
    environment = os.environ | {"PYTHONPATH": str(installed), "MYPYPATH": str(installed)}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "typed.py"]
    ended = subprocess.run(
        command, cwd=installed, env=environment, text=True, capture_output=True, check=False
    )
    assert 'typed.py:3: error: Incompatible types in assignment (expression has type "str"' in ended.stdout
    assert "Found 1 error in 1 file" in ended.stdout
