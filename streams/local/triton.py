"""NVIDIA Triton with its Python backend, from the package nvidia-pytriton."""

import ctypes
import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path

from dehusk.inference.labelers.repository import versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.folders import is_unlocked
from dehusk.streams.local.folder import LOOPBACK
from dehusk.streams.local.process import Program
from dehusk.streams.wording import how_to_install, program

_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 the Python backend passes tensors here
_REGION = "dehusk-triton-"
_LIBRARY_PATH = "LD_LIBRARY_PATH"
_STAND_IN = Path(__file__).parent / "backends" / "onnxruntime"


@dataclass(frozen=True, slots=True)
class TritonServer(Program):
    """One Triton server; it loads the models of a repository at its start, and others on request."""

    name: str
    wheel: Path
    """Folder `tritonserver` of the package."""
    repository: Path
    directory: Path
    http_port: int
    grpc_port: int
    metrics_port: int

    def preparation(self) -> Sequence[str]:
        """Make the backend directory and remove the shared memory of killed servers; there is no command."""
        assemble_backends(self.wheel, self._backends)
        self.sweep()
        return ()

    def command(self) -> Sequence[str]:
        """Return the command that runs the server."""
        return [
            str(self.wheel / "bin" / "tritonserver"),
            f"--model-repository={self.repository}",
            f"--backend-directory={self._backends}",
            "--model-control-mode=explicit",
            "--disable-auto-complete-config",  # which takes a process more for each model and version
            *(f"--load-model={model}" for model in self._models()),
            f"--http-address={LOOPBACK}",
            f"--http-port={self.http_port}",
            f"--grpc-address={LOOPBACK}",
            f"--grpc-port={self.grpc_port}",
            f"--metrics-port={self.metrics_port}",
            f"--backend-config=python,shm-region-prefix-name={self._region}",
            "--log-info=false",
            "--exit-timeout-secs=10",
        ]

    def environment(self) -> Mapping[str, str]:
        """Return this environment with the paths of this Python, its library and those of the wheel."""
        libraries = [str(_python_libraries()), str(self.wheel.parents[1] / "nvidia_pytriton.libs")]
        if given := os.environ.get(_LIBRARY_PATH):  # an empty part would be the current folder
            libraries.append(given)
        return os.environ | {
            "PATH": os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)]),
            _LIBRARY_PATH: os.pathsep.join(libraries),
        }

    def is_ready(self) -> bool:
        """Return True if the server reports itself and every loaded model as ready."""
        connection = HTTPConnection(LOOPBACK, self.http_port, timeout=2)
        try:
            connection.request("GET", "/v2/health/ready")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def sweep(self) -> None:
        """Remove the shared memory that killed servers have left, this one's included."""
        sweep_shared_memory(self._region)

    def has_lost_a_model(self) -> bool:
        """Return True if the process of a model died; the server still reports itself as ready."""
        return any(is_unlocked(lock) for lock in self._backends.glob(f"{_STAND_IN.name}/*.lock"))

    @property
    def _region(self) -> str:
        """Prefix of the names of its shared memory."""
        return f"{_REGION}{os.getpid()}-{self.http_port}-"

    def _models(self) -> list[str]:
        """Return the models of the repository that have a version to serve."""
        models = (file.parent.name for file in self.repository.glob("*/config.pbtxt"))
        return sorted(model for model in models if versions(self.repository, model))

    @property
    def _backends(self) -> Path:
        return self.directory / "backends"


def find_triton(python: str = _PYTHON) -> Path:
    """Return the folder `tritonserver` of the package nvidia-pytriton, which is to serve a version of Python.

    Raises:
        ConfigurationError: it is not installed, or cannot run on this machine or with this Python.
    """
    if platform.machine() != "x86_64":
        raise ConfigurationError(f"Triton installs with pip for Linux on x86-64 only. {_advice()}")
    package = find_spec("pytriton")
    if package is None or package.origin is None:
        raise ConfigurationError(f"Triton is not installed: {how_to_install('local')}. {_advice()}")
    wheel = Path(package.origin).parent / "tritonserver"
    if not _stub(wheel, python).exists():
        raise ConfigurationError(f"Triton's Python backend has no stub for Python {python}. {_advice()}")
    _check_python_library(python)
    return wheel


def assemble_backends(wheel: Path, directory: Path) -> None:
    """Make a backend directory of the wheel's Python backend with its stub, and dehusk's `onnxruntime`.

    They are copied, as the server loads no backend outside of its directory.
    """
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(wheel / "backends" / "python", directory / "python")
    shutil.copy(_stub(wheel, _PYTHON), directory / "python")
    shutil.copytree(_STAND_IN, directory / "onnxruntime", ignore=shutil.ignore_patterns("__pycache__"))


def sweep_shared_memory(own: str, folder: Path = _SHARED_MEMORY) -> None:
    """Remove the shared memory of ended processes, and that of an earlier server with this prefix."""
    for region in folder.glob(f"{_REGION}*"):
        owner = region.name.removeprefix(_REGION).partition("-")[0]
        if region.name.startswith(own) or not Path("/proc", owner).exists():
            with suppress(PermissionError):  # of another user
                region.unlink(missing_ok=True)


def _stub(wheel: Path, python: str) -> Path:
    return wheel / "python_backend_stubs" / python / "triton_python_backend_stub"


def _python_libraries() -> Path:
    return Path(sys.base_prefix) / "lib"


def _advice() -> str:
    return f"Do without it: `{program()} up --without-triton`, then `{program()} worker --labeler onnx`."


def _check_python_library(python: str) -> None:
    library = f"libpython{python}.so.1.0"
    for place in (str(_python_libraries() / library), library):
        with suppress(OSError):
            ctypes.CDLL(place)
            return
    raise ConfigurationError(
        f"Triton's Python backend needs {library}: apt-get install libpython{python}. {_advice()}"
    )
