"""Progress of a command on a terminal."""

import io

import pytest
from rich.console import Console

from dehusk.streams.cli.shared.terminal import echo, page_progress, plain_console, print_table
from dehusk.streams.files.position import InputPosition
from dehusk.streams.files.readers import read_pages

URL = "https://example.org/" + "a" * 200
SHOWN = "a\xa0b\tc\x1b[2J\x9b\nd"
ROWS = [("now", URL, "it is too large"), ("then", "", "")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(monkeypatch, output):
    monkeypatch.setattr("sys.stdout", output)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    print_table(plain_console(), ("when", "URL", "why"), ROWS)
    return output.getvalue()


def test_a_pipe_gets_a_line_for_each_row_whose_cells_are_parted_by_tabs(monkeypatch):
    lines = printed(monkeypatch, io.StringIO()).splitlines()
    assert lines == ["when\tURL\twhy", f"now\t{URL}\tit is too large", "then\t\t"]


def test_a_terminal_gets_the_whole_url_folded(monkeypatch):
    text = printed(monkeypatch, Terminal())
    assert "…" not in text
    assert text.count("a") == URL.count("a") + "it is too large".count("a")
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("is_terminal", "shown"), [(True, "a\xa0b\tc\\x1b[2J\\x9b\nd\n"), (False, SHOWN + "\n")]
)
def test_only_a_terminal_is_spared_commands_to_it(monkeypatch, is_terminal, shown):
    written = io.BytesIO()
    output = io.TextIOWrapper(written, encoding="ascii")
    monkeypatch.setattr(output, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stdout", output)
    echo(SHOWN)
    assert written.getvalue().decode() == shown


PAGES = b"".join(b'{"html": "<p>%d"}\n' % number for number in range(1500))


@pytest.fixture
def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=150)


def shown(terminal, paths, *, shown):
    """Return the terminal's content once all pages are done."""
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
    monkeypatch.setattr("dehusk.streams.cli.shared.terminal.input_size", lambda paths: None)
    text = shown(terminal, [tmp_path], shown=True)
    assert "1,500 pages" in text
    assert "ETA" not in text


def test_nothing_is_shown_where_nobody_looks(terminal, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(PAGES)
    assert shown(terminal, [tmp_path], shown=False) == ""
