"""The wheel, with the library that the checkout has compiled, beside packages called like our folders."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from sysconfig import get_config_var, get_platform
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dehusk.streams.wording import EXTRAS

ROOT = Path(__file__).parents[2]
NATIVE = "dehusk/inference/native"
PAGE = "<nav><a href=/>Home</a></nav><main><p>" + "A paragraph of prose, long enough to be content. " * 3


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, built = tmp_path_factory.mktemp("source") / "dehusk", tmp_path_factory.mktemp("wheel")
    left_out = shutil.ignore_patterns(".*", "build", "*.egg-info", "*.so", "*.c", "__pycache__", "tests")
    shutil.copytree(ROOT, source, symlinks=True, ignore=left_out)
    compiled = source / "build" / f"lib.{get_platform()}-{sys.implementation.cache_tag}" / NATIVE
    compiled.mkdir(parents=True)
    (library,) = (ROOT / NATIVE).glob(f"_library*{get_config_var('EXT_SUFFIX')}")
    shutil.copy2(library, compiled)  # with its C: to compile them once more would take a minute
    shutil.copytree(ROOT / "build/cython", source / "build/cython")
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
    assert not any(name.startswith("dehusk/training/") for name in names)


def needed(installed: Path, name: str, extras: Iterable[str], found: dict[str, Distribution]) -> None:
    """Add the distributions that one needs with some extras, as pip would install them."""
    own = next(distributions(name=name, path=[str(installed)]), None)
    found[name] = own or distribution(name)
    for requirement in map(Requirement, found[name].requires or ()):
        applies = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        other = canonicalize_name(requirement.name)
        if applies and (other not in found or requirement.extras):
            needed(installed, other, requirement.extras, found)


def alone(installed: Path, folder: Path, *extras: str) -> set[str]:
    """Link the wheel, and what it needs with some extras, into a folder; return the names of all packages."""
    found: dict[str, Distribution] = {}
    needed(installed, "dehusk", extras, found)
    for each in found.values():
        for top in {file.parts[0] for file in each.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(each.locate_file(top))).resolve())
    return set(found) - {"dehusk"}


def run_alone(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python with the packages of a folder and no others."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


OTHERS = ("aiohttp", "aiokafka", "faust", "prometheus_client", "redis", "tritonclient")


def test_the_library_alone_needs_few_packages(installed: Path, tmp_path: Path) -> None:
    packages = alone(installed, tmp_path)
    assert len(packages) <= 20
    code = f"""
from importlib.util import find_spec
print([name for name in {OTHERS + EXTRAS["cli"]} if find_spec(name)])
import dehusk
document = dehusk.extract({PAGE!r}, "http://x.test/", with_markdown=True, with_html=True, metadata="full")
assert dehusk.Document.from_json(document.to_json()) == document
print(document.text[:20], document.language, dehusk.metadata("<meta name=author content=Ada>").author)
print([result == dehusk.extract({PAGE!r}) for _, result in dehusk.extract_many([{PAGE!r}] * 2, processes=1)])
"""
    ended = run_alone(tmp_path, "-c", code)
    assert ended.stdout.splitlines() == ["[]", "A paragraph of prose en Ada", "[True, True]"], ended.stderr


def test_the_library_is_small_in_memory_until_a_page_comes(installed: Path, tmp_path: Path) -> None:
    alone(installed, tmp_path)
    code = (
        "import dehusk, resource; dehusk.extract; pages = open('/proc/self/statm').read().split()[1]; "
        "print(int(pages) * resource.getpagesize() // 2**20)"
    )
    assert int(run_alone(tmp_path, "-c", code).stdout) <= 60


def test_a_command_without_its_extra_names_it_in_a_line(installed: Path, tmp_path: Path) -> None:
    library, commands = tmp_path / "library", tmp_path / "commands"
    library.mkdir()
    commands.mkdir()
    alone(installed, library)
    alone(installed, commands, "cli")
    for folder, words, module, extra in (
        (library, ["clean"], "click", "cli"),
        (commands, ["worker"], "prometheus_client", "kafka"),
        (commands, ["up"], "aiokafka", "kafka"),
        (commands, ["clean", "--site-statistics", "redis://localhost:1", "-"], "redis", "kafka"),
        (commands, ["clean", "--output", str(tmp_path / "out"), "-"], "pyarrow", "parquet"),
    ):
        ended = run_alone(folder, "-m", "dehusk", *words, input=PAGE)
        advice = f"`pip install 'dehusk[{extra}]'`, or `make setup` in its checkout"
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == f"dehusk: {module} is not installed: {advice}\n"


def test_pages_are_cleaned_by_the_command_without_what_kafka_needs(installed: Path, tmp_path: Path) -> None:
    packages = alone(installed, tmp_path, "cli")
    assert not {"aiohttp", "aiokafka", "faust-streaming", "redis", "tritonclient"} & packages
    ended = run_alone(tmp_path, "-m", "dehusk", "clean", "--processes", "1", "--no-blocks", input=PAGE)
    assert '"text":"A paragraph of prose' in ended.stdout, ended.stderr
    assert "Commands" in run_alone(tmp_path, "-m", "dehusk", "--help").stdout


def test_extras_bring_what_commands_name_them_for(installed: Path) -> None:
    names = {"faust": "faust-streaming"}
    before: set[str] = set()
    for extra, modules in EXTRAS.items():
        found: dict[str, Distribution] = {}
        needed(installed, "dehusk", [extra], found)
        assert {names.get(name, name).replace("_", "-") for name in modules} <= set(found) - before
        before = set(found)


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
        ("streams/labeling/page", {"labeler.html", "labeler.css", "state.js", "keys.js"}),
    ],
)
def test_the_files_of_pages_for_browsers_are_in_it(wheel: Path, folder: str, files: set[str]) -> None:
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
