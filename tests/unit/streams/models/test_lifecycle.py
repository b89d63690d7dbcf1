"""Adding a version that Triton loads, and removing one that roll-outs are done with, without a Triton."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from dehusk.inference.labelers.repository import served, versions
from dehusk.inference.labelers.version_policy import with_versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.models.candidate import find_candidate
from dehusk.streams.models.lifecycle import Removal, add_version, load_added, remove_version
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.store import write_config
from tests.unit.streams.models import graphs


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that serves the versions 7 and 8 of 6, 7 and 8."""
    model = tmp_path / "model"
    for version in ("6", "7", "8"):
        graphs.write_version(model / version, graphs.always(0.5))
    graphs.write_config(model, "model")
    text = (model / "config.pbtxt").read_text()
    write_config(model, with_versions(text, ["7", "8"]))
    return tmp_path


async def test_the_newest_version_goes_where_roll_outs_name_another(repository: Path) -> None:
    with pytest.raises(ConfigurationError, match="is the default version"):
        await remove_version(Removal(repository, "model", "8"), None)
    await remove_version(Removal(repository, "model", "8", frozenset({"7"})), None)
    assert (versions(repository, "model"), served(repository, "model")) == (["6", "7"], ["7"])


async def test_a_version_that_is_not_served_leaves_the_policy(repository: Path) -> None:
    before = (repository / "model" / "config.pbtxt").read_text()
    await remove_version(Removal(repository, "model", "6", frozenset({"7"})), None)
    assert versions(repository, "model") == ["7", "8"]
    assert (repository / "model" / "config.pbtxt").read_text() == before


class Loads:
    """A Triton that notes what it loads: a configuration that it is given, or None for the file."""

    def __init__(self, meanwhile: Callable[[], object] = bool) -> None:
        self.loaded: list[bool] = []
        self._meanwhile = meanwhile

    async def load(self, _model: str, config: str | None = None) -> None:
        """Note a load."""
        self.loaded.append(config is not None)
        self._meanwhile()


@pytest.fixture
def config(repository: Path) -> Path:
    """Configuration of a model that serves its newest version, whichever that is."""
    graphs.write_config(repository / "model", "model")
    return repository / "model" / "config.pbtxt"


def text_of(config: Path) -> str:
    return config.read_text()


def rights_of(file: Path) -> int:
    return file.stat().st_mode & 0o777


async def add_and_load(config: Path, server: Loads, before: Callable[[], object] = bool) -> None:
    repository = config.parents[1]
    candidate = find_candidate(repository / "model" / "8")
    added = await add_version(candidate, repository, "model", "9", None, hold=True)
    assert served(repository, "model") == ["8"]
    before()
    await load_added(cast("ModelServer", server), added)


async def test_a_version_that_triton_has_loaded_is_held_no_more(config: Path) -> None:
    before, server = text_of(config), Loads()
    await add_and_load(config, server)
    assert (text_of(config), server.loaded) == (before, [True])


@pytest.mark.parametrize(("when", "loaded"), [("before", [False]), ("while", [True, False])])
async def test_what_another_command_has_served_meanwhile_stays(
    config: Path, when: str, loaded: list[bool]
) -> None:
    promoted = with_versions(text_of(config), ["7", "8"], "7")

    def promote() -> None:
        config.write_text(promoted)

    server = Loads(promote if when == "while" else bool)
    await add_and_load(config, server, promote if when == "before" else bool)
    assert (text_of(config), server.loaded) == (promoted, loaded)


@pytest.fixture
def _private_files() -> Iterator[None]:
    """Have this user's new files be for nobody else."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_private_files")
async def test_other_users_may_read_what_is_written(config: Path) -> None:
    os.chmod(config, 0o664)  # noqa: PTH101 linters take those of a Path for blocking
    await add_and_load(config, Loads())
    version = config.parent / "9"
    assert [rights_of(each) for each in (config, version, version / "model.onnx")] == [0o664, 0o755, 0o644]
