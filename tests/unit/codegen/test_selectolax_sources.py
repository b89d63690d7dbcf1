import tomllib
from pathlib import Path

import pytest

from codegen.selectolax_sources import ROOT, pinned_version, unpacked


def test_the_locked_version_is_the_required_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"selectolax=={pinned_version()}" in project["dependencies"]


def test_sources_with_another_hash_are_refused(tmp_path: Path) -> None:
    (tmp_path / f"selectolax-{pinned_version()}.tar.gz").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"requirements\.lock"), unpacked(tmp_path):
        pass
