import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.local import triton


def test_elsewhere_than_on_linux_the_error_names_the_way_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton.platform, "machine", lambda: "aarch64")
    with pytest.raises(ConfigurationError, match=r"Linux on x86-64 only.*--labeler onnx"):
        triton.find_triton()


def test_an_unknown_python_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"no stub for Python 3\.99.*--labeler onnx"):
        triton.find_triton("3.99")


def test_a_missing_python_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton.ctypes, "CDLL", refuse)
    with pytest.raises(ConfigurationError, match="apt-get install libpython3"):
        triton.find_triton()


def refuse(library: str) -> None:
    raise OSError(f"{library}: cannot open shared object file")


def test_backends_hold_no_link_out_of_their_directory(tmp_path: Path) -> None:
    triton.assemble_backends(triton.find_triton(), tmp_path / "backends")
    files = {str(file.relative_to(tmp_path / "backends")) for file in tmp_path.rglob("*") if file.is_file()}
    assert {
        "onnxruntime/model.py",
        "python/libtriton_python.so",
        "python/triton_python_backend_stub",
    } <= files
    assert not any(file.is_symlink() for file in tmp_path.rglob("*"))
    assert os.access(tmp_path / "backends" / "python" / "triton_python_backend_stub", os.X_OK)


def test_backends_are_laid_out_anew(tmp_path: Path) -> None:
    wheel = triton.find_triton()
    triton.assemble_backends(wheel, tmp_path / "backends")
    stale = tmp_path / "backends" / "onnxruntime" / "stale.py"
    stale.touch()
    triton.assemble_backends(wheel, tmp_path / "backends")
    assert not stale.exists()


@pytest.mark.parametrize(("given", "more"), [(None, []), ("", []), ("/cuda/lib", ["/cuda/lib"])])
def test_libraries_are_looked_for_where_one_says_but_not_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None, more: list[str]
) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    if given is not None:
        monkeypatch.setenv("LD_LIBRARY_PATH", given)
    server = triton.TritonServer("triton", triton.find_triton(), tmp_path, tmp_path, 1, 2, 3)
    _, own, *others = server.environment()["LD_LIBRARY_PATH"].split(":")
    assert (Path(own).name, others) == ("nvidia_pytriton.libs", more)


def test_memory_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dehusk-triton-4194999-8000-c").touch()
    monkeypatch.setattr(Path, "unlink", Mock(side_effect=PermissionError))
    triton.sweep_shared_memory("dehusk-triton-1-", tmp_path)


def test_memory_of_dead_servers_is_given_back(tmp_path: Path) -> None:
    own, of_another = f"dehusk-triton-{os.getpid()}-8000-", f"dehusk-triton-{os.getpid()}-9000-"
    for name in (f"{own}a", f"{of_another}b", "dehusk-triton-4194999-8000-c", "another-program"):
        (tmp_path / name).touch()
    triton.sweep_shared_memory(own, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {f"{of_another}b", "another-program"}
