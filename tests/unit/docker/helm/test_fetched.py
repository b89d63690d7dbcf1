"""Files that are fetched for the tests of the chart: once, whole, and only those that were tested with."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tests.unit.docker.helm import fetched

DIGEST = sha256(b"right").hexdigest()


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetched, "CACHE", tmp_path / "cache")


def giving(content: bytes) -> Callable[[Path], Path]:
    def download(folder: Path) -> Path:
        file = folder / "download"
        file.write_bytes(content)
        return file

    return download


def failing(_folder: Path) -> Path:
    raise ConnectionError("no route to host")


def test_a_file_is_fetched_once() -> None:
    first = fetched.fetched("file", DIGEST, giving(b"right"))
    assert first.read_bytes() == b"right"
    assert fetched.fetched("file", DIGEST, failing) == first


def test_another_file_is_refused_also_when_it_is_asked_for_again() -> None:
    for download in (giving(b"wrong"), failing):
        with pytest.raises(ValueError, match="is not the file"):
            fetched.fetched("file", DIGEST, download)


def test_without_a_network_nothing_is_kept() -> None:
    with pytest.raises(ConnectionError):
        fetched.fetched("file", DIGEST, failing)
    assert [file.name for file in fetched.CACHE.iterdir()] == ["lock"]
