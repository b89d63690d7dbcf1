"""How far a command has come, on a terminal."""

import io

import pytest
from rich.console import Console

from dehusk.streams.cli.progress import page_progress
from dehusk.streams.input_position import InputPosition
from dehusk.streams.readers import read_pages

PAGES = b"".join(b'{"html": "<p>%d"}\n' % number for number in range(1500))


@pytest.fixture
def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=150)


def shown(terminal, paths, *, shown):
    """What is on the terminal once all pages are done."""
    position = InputPosition()
    with page_progress("cleaning", terminal, paths, position, shown=shown) as advance:
        for number, _ in enumerate(read_pages(paths, 1000, position=position), start=1):
            advance(number, 1000 * number)
    return terminal.file.getvalue()


def test_pages_bytes_speed_percent_and_time_left_are_shown(terminal, tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(PAGES)
    text = shown(terminal, [tmp_path], shown=True)
    assert "cleaning" in text
    assert "3,000 pages, 3.0 MB, " in text
    assert "pages/s" in text
    assert "100%, ETA" in text


def test_a_pipe_has_neither_percent_nor_time_left(terminal, tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_bytes(PAGES)
    monkeypatch.setattr("dehusk.streams.cli.progress.input_size", lambda paths: None)
    text = shown(terminal, [tmp_path], shown=True)
    assert "1,500 pages" in text
    assert "ETA" not in text


def test_nothing_is_shown_where_nobody_looks(terminal, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(PAGES)
    assert shown(terminal, [tmp_path], shown=False) == ""
