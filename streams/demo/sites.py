"""The site that the demo crawls: documentation from a Debian package, or the handbook that dehusk ships."""

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dehusk.schemas.errors import DehuskError, UnavailableError
from dehusk.streams.local.folder import writing

_APT_SECONDS = 180


@dataclass(frozen=True, slots=True)
class Site:
    """A static site on disk."""

    name: str
    directory: Path
    """What the web server serves as its root."""
    start: str = "index.html"
    """Where the crawl starts, relative to the directory."""
    instead: str = ""
    """Why it is this site and not the one that was wanted first, if so."""


@dataclass(frozen=True, slots=True)
class Documentation:
    """HTML documentation in Debian's and Ubuntu's packages."""

    packages: Sequence[str]
    """The package's names in different releases; the first that can be had is taken."""
    root: str
    """Glob of the site's directory in the unpacked package."""
    start: str = "index.html"


DOCUMENTATION = {
    "python": Documentation(
        ["python3.11-doc", "python3.13-doc", "python3.12-doc"], "usr/share/doc/python3.*/html"
    ),
    "postgresql": Documentation(
        ["postgresql-doc-15", "postgresql-doc-17", "postgresql-doc-16"], "usr/share/doc/postgresql-doc-*/html"
    ),
    "apache": Documentation(["apache2-doc"], "usr/share/doc/apache2-doc/manual", "en/index.html"),
}
SHIPPED = Site("shipped", Path(__file__).parent / "site")
NAMES = ("auto", *DOCUMENTATION, SHIPPED.name)


def find_site(name: str, cache: Path) -> Site:
    """The site of this name; `auto` is Python's documentation, or the handbook where that cannot be had.

    Raises:
        ConfigurationError: the named package could not be kept in the cache.
        UnavailableError: the named package could not be fetched.
    """
    if name == SHIPPED.name:
        return SHIPPED
    if name != "auto":
        return _documentation(name, cache)
    try:
        return _documentation("python", cache)
    except DehuskError as error:
        return replace(SHIPPED, instead=f"Python's documentation cannot be had: {error}")


def _documentation(name: str, cache: Path) -> Site:
    documentation = DOCUMENTATION[name]
    unpacked = cache / "sites" / name
    if not unpacked.exists():
        with writing(cache):
            _fetch(documentation.packages, unpacked, cache / "apt")
    root = next(found for found in unpacked.glob(documentation.root) if not found.is_symlink())
    return Site(name, root, documentation.start)


def _fetch(packages: Sequence[str], unpacked: Path, apt: Path) -> None:
    unpacked.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=unpacked.parent) as name:
        folder = Path(name)
        package = _download(packages, folder, apt)
        _run(["dpkg-deb", "--extract", str(package), "content"], folder)
        (folder / "content").rename(unpacked)


def _download(packages: Sequence[str], folder: Path, apt: Path) -> Path:
    """The package file, by the system's package lists or, where these lack it, by fresh ones of our own."""
    try:
        return _download_first(packages, folder, [])
    except UnavailableError:
        lists = apt / "lists"
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        own = ["--option", f"Dir::State::Lists={lists}", "--option", f"Dir::Cache={apt}"]  # needs no root
        _run(["apt-get", *own, "update"], folder)
        return _download_first(packages, folder, own)


def _download_first(packages: Sequence[str], folder: Path, options: Sequence[str]) -> Path:
    errors = []
    for package in packages:
        try:
            _run(["apt-get", *options, "download", package], folder)
        except UnavailableError as error:
            errors.append(str(error))
        else:
            return next(folder.glob("*.deb"))
    raise UnavailableError("\n".join(errors))


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=_APT_SECONDS)
    except FileNotFoundError as error:
        raise UnavailableError(f"{command[0]} is not on this machine; --site shipped needs none") from error
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{' '.join(command)} took more than {_APT_SECONDS} s") from error
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"{' '.join(command)} failed: {error.stderr.strip()}") from error
