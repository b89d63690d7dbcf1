from pathlib import Path

import pytest

from dehusk.streams.wording import program


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to the user's folder; the program is installed in two places below, and the shell finds neither."""
    for place in ("my venv/bin", "other/bin"):
        file = tmp_path / place / "dehusk"
        file.parent.mkdir(parents=True)
        file.write_text("")
        file.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    return tmp_path


@pytest.mark.parametrize("started", ["my venv/bin/dehusk", "{folder}/my venv/bin/dehusk"])
def test_the_shorter_path_is_quoted_for_the_shell(
    folder: Path, monkeypatch: pytest.MonkeyPatch, started: str
) -> None:
    monkeypatch.setattr("sys.argv", [started.format(folder=folder), "up"])
    assert program() == "'my venv/bin/dehusk'"


def test_a_path_that_is_longer_from_here_stays_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = str(folder / "other/bin/dehusk")
    deep = folder.joinpath(*["deep"] * len(started))
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    monkeypatch.setattr("sys.argv", [started])
    assert program() == started


def test_a_program_in_this_folder_keeps_the_dot_that_shells_need(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder / "other/bin")
    monkeypatch.setattr("sys.argv", ["./dehusk"])
    assert program() == "./dehusk"


def test_what_the_shell_finds_is_called_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder / "other/bin"))
    monkeypatch.setattr("sys.argv", [str(folder / "other/bin/dehusk")])
    assert program() == "dehusk"


def test_another_one_that_the_shell_finds_is_not_meant(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder / "my venv/bin"))
    monkeypatch.setattr("sys.argv", ["other/bin/dehusk"])
    assert program() == "other/bin/dehusk"


def test_a_program_that_was_started_another_way_has_its_own_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["-c"])
    assert program() == "dehusk"
