import io

import pytest

from dehusk.streams.cli.terminal import echo, plain_console, print_table

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
