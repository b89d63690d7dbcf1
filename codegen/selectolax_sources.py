"""Source distribution of the selectolax that `requirements.lock` names: it holds Lexbor's headers."""

import functools
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache/selectolax"
_LOCKED = re.compile(r"^selectolax==(?P<version>\S+) \\\n(?: +--hash=sha256:\w+(?: \\)?\n)+", re.MULTILINE)


@functools.cache
def _locked() -> re.Match[str]:
    found = _LOCKED.search((ROOT / "requirements.lock").read_text())
    if found is None:
        raise ValueError("requirements.lock names no selectolax with its hashes")
    return found


def pinned_version() -> str:
    """Return the version in `requirements.lock`."""
    return _locked()["version"]


@contextmanager
def unpacked(cache: Path = CACHE) -> Iterator[Path]:
    """Unpack the sources, which are downloaded into the cache once, into a temporary folder.

    Raises:
        ValueError: their hash is not one of those in `requirements.lock`.
    """
    with TemporaryDirectory() as folder, tarfile.open(_archive(cache)) as archive:
        archive.extractall(folder, filter="data")
        yield Path(folder) / f"selectolax-{pinned_version()}"


def _archive(cache: Path) -> Path:
    path = cache / f"selectolax-{pinned_version()}.tar.gz"
    if not path.exists():
        _download(path.parent)
    if sha256(path.read_bytes()).hexdigest() not in _locked()[0]:
        raise ValueError(f"{path} is not what requirements.lock names; remove it")
    return path


def _download(folder: Path) -> None:
    with TemporaryDirectory() as temporary:
        requirements = Path(temporary) / "requirements.txt"
        requirements.write_text(_locked()[0])
        options = [
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--no-binary=selectolax",
            "--require-hashes",
        ]
        files = ["--requirement", str(requirements), "--dest", str(folder)]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, *files], check=True)
