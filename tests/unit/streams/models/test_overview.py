"""Versions on disk, as the commands list them."""

from pathlib import Path

from dehusk.streams.models.overview import stored_versions
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
