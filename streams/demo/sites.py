"""The site that the demo crawls, and its web server.

It is documentation from a Debian package, or the handbook that dehusk ships.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.streams.demo.handbook import write_handbook
from dehusk.streams.folders import claimed_folder, writing

_APT_SECONDS = 180
_FETCHING = ".fetching-"
"""Prefix of the folders that packages are fetched into, of which a killed process leaves one."""
_POLL_SECONDS = 0.05
"""Longest wait of the server for a request, and so of its end."""


@dataclass(frozen=True, slots=True)
class Site:
    """A static site on disk."""

    name: str
    directory: Path | None
    """Root of the web server; None for the handbook, which is written where it is served from."""
    start: str = "index.html"
    """Start of the crawl, relative to the directory."""
    instead: str = ""
    """Reason for this site in place of the one that was wanted first, if any."""

    def root(self, folder: Path) -> Path:
        """Return the root of the web server, after writing the handbook into the folder if it is the site.

        Raises:
            ConfigurationError: the folder cannot be written.
        """
        if self.directory is not None:
            return self.directory
        with writing(folder):
            write_handbook(folder)
        return folder


@dataclass(frozen=True, slots=True)
class Documentation:
    """HTML documentation in Debian's and Ubuntu's packages."""

    packages: Sequence[str]
    """Names of the package in different releases; the first available one is taken."""
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
SHIPPED = Site("shipped", None)
NAMES = ("auto", *DOCUMENTATION, SHIPPED.name)


def find_site(name: str, cache: Path) -> Site:
    """Return the site of this name; `auto` is Python's documentation, or the handbook if that fails.

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
            fetch_package(documentation.packages, unpacked, cache / "apt")
    root = next((found for found in unpacked.glob(documentation.root) if not found.is_symlink()), None)
    if root is None:
        raise ConfigurationError(f"{unpacked} holds no {documentation.root}: remove it, to fetch it again")
    return Site(name, root, documentation.start)


def fetch_package(packages: Sequence[str], unpacked: Path, apt: Path) -> None:
    """Unpack the first of some Debian packages that can be fetched; `apt` keeps the lists of packages."""
    unpacked.parent.mkdir(parents=True, exist_ok=True)
    with claimed_folder(unpacked.parent, _FETCHING) as folder:
        package = _download(packages, folder, apt)
        _run(["dpkg-deb", "--extract", str(package), "content"], folder)
        (folder / "content").rename(unpacked)


def _download(packages: Sequence[str], folder: Path, apt: Path) -> Path:
    """Return the package file, found by the system's package lists, else by fresh lists of our own."""
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


class _QuietHandler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open between pages

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
        pass


@contextmanager
def serve(directory: Path) -> Iterator[str]:
    """Serve a directory on a free loopback port, and yield its URL, with a slash at the end."""
    handler = partial(_QuietHandler, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
