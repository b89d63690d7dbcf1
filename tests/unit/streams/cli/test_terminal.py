import io

import pytest

from streams.cli.terminal import plain_console, plain_table

URL = "https://example.org/" + "a" * 200


@pytest.fixture
def table():
    table = plain_table("when", "URL", "why")
    table.add_row("now", URL, "it is too large")
    return table


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(monkeypatch, table, output):
    monkeypatch.setattr("sys.stdout", output)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    plain_console().print(table)
    return output.getvalue()


def test_a_pipe_gets_rows_of_one_line_in_full_width(monkeypatch, table):
    _, row = printed(monkeypatch, table, io.StringIO()).splitlines()
    assert row.split(maxsplit=2) == ["now", URL, "it is too large  "]


def test_a_terminal_gets_the_whole_url_folded(monkeypatch, table):
    text = printed(monkeypatch, table, Terminal())
    assert "…" not in text
    assert text.count("a") == URL.count("a") + "it is too large".count("a")
    assert max(map(len, text.splitlines())) <= 80
