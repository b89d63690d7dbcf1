"""Removing a version that roll-outs are done with, without a Triton."""

from pathlib import Path

import pytest

from dehusk.inference.labelers.repository import served, versions
from dehusk.inference.labelers.version_policy import with_versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.models.lifecycle import Removal, remove_version
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
