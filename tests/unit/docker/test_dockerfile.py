"""The worker's image, checked as far as that goes without an engine."""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import yaml

from dehusk.streams.cli import cli

ROOT = Path(__file__).parents[3]
INSTRUCTIONS = {"FROM", "RUN", "COPY", "WORKDIR", "ENV", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
LINES = re.sub(r"\\\n\s*", "", (ROOT / "docker/Dockerfile").read_text()).splitlines()
STEPS = [line.split(maxsplit=1) for line in LINES if line and not line.startswith("#")]


def steps(name: str) -> list[str]:
    return [rest for instruction, rest in STEPS if instruction == name]


def copied() -> list[str]:
    """The files of the project that get into the image."""
    sources = [rest.split()[:-1] for rest in steps("COPY") if not rest.startswith("--from")]
    return [source for group in sources for source in group]


def test_every_line_is_an_instruction() -> None:
    assert {instruction for instruction, _ in STEPS} <= INSTRUCTIONS
    assert STEPS[0][0] == "FROM"


def test_what_is_copied_is_there_and_not_ignored() -> None:
    patterns = (ROOT / "docker/Dockerfile.dockerignore").read_text().split()
    kept = {pattern[1:] for pattern in patterns if pattern.startswith("!")}
    for source in copied():
        assert (ROOT / source).exists()
        assert any(fnmatch(source, pattern) for pattern in kept), f"{source} does not reach the build"
    assert kept == set(copied())


def test_all_that_the_package_consists_of_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert {*packages, "pyproject.toml", "setup.py", project["project"]["readme"], "LICENSE"} < set(copied())


def test_the_image_needs_no_root() -> None:
    last = max(place for place, (instruction, _) in enumerate(STEPS) if instruction == "FROM")
    assert ["USER", "10001"] in STEPS[last:]


def test_its_user_is_that_of_the_chart() -> None:
    """By its number: of a name, Kubernetes cannot tell that it is not root."""
    worker = yaml.safe_load((ROOT / "docker/helm/values.yaml").read_text())["worker"]
    (user,) = steps("USER")
    assert int(user) == worker["podSecurityContext"]["runAsUser"]
    assert any(f"--uid {user} " in command for command in steps("RUN"))


def test_the_image_runs_a_command_that_there_is() -> None:
    assert steps("ENTRYPOINT") == ['["dehusk"]']
    (arguments,) = steps("CMD")
    name, *options = re.findall(r'"([^"]+)"', arguments)
    worker = cli.get_command(None, name)  # type: ignore[arg-type]
    assert worker is not None
    assert worker.make_context(name, options).params["monitoring"] == "0.0.0.0:8080"


def test_its_lock_holds_the_versions_that_were_tested() -> None:
    locks = [(ROOT / name).read_text() for name in ("docker/requirements.lock", "requirements.lock")]
    image, tested = (dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", lock, re.MULTILINE)) for lock in locks)
    assert image.items() <= tested.items()
    assert "pytest" not in image
