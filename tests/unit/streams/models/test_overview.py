"""Versions on disk, as the commands list them."""

import os
from pathlib import Path

import pytest

from dehusk.streams.models.overview import card_of, stored_versions
from tests.unit.streams.models import graphs


def test_a_version_whose_file_cannot_be_read_is_listed_with_the_reason(tmp_path: Path) -> None:
    for version in ("1", "2"):
        graphs.write_version(tmp_path / "model" / version, b"")
    graphs.write_config(tmp_path / "model", "model")
    file = tmp_path / "model" / "1" / "model.onnx"
    file.unlink()
    file.mkdir()  # no file for the superuser either
    broken, whole = stored_versions(tmp_path, "model")
    assert (broken.version, broken.sha256, broken.bytes) == ("1", "", 0)
    assert "model.onnx" in broken.problem
    assert whole.sha256


@pytest.mark.parametrize("target", ["pipe", "/dev/zero"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, target: str) -> None:
    graphs.write_version(tmp_path / "model" / "1", b"")
    graphs.write_config(tmp_path / "model", "model")
    file = tmp_path / "model" / "1" / "model.onnx"
    file.unlink()
    if target == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(target)
    (listed,) = stored_versions(tmp_path, "model")
    assert (listed.sha256, listed.bytes, bool(listed.problem)) == ("", 0, True)


def test_a_version_has_no_card_where_the_system_does_not_show_its_files(tmp_path: Path) -> None:
    assert card_of(tmp_path / ("m" * 300)) == ""
