import pytest

from dehusk.streams.wording import printable, without_password


@pytest.mark.parametrize(
    ("text", "shown"),
    [("Grüße", "Grüße"), ("a\x1b[2Jb\n", r"a\x1b[2Jb\n"), ("\ud800\u202e", r"\ud800\u202e")],
)
def test_what_a_terminal_would_obey_or_cannot_show_is_escaped(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://localhost:6379/0", "redis://localhost:6379/0"),
        ("http://user:secret@host:8081/path", "http://***@host:8081/path"),
        ("rediss://:secret@host", "rediss://***@host"),
        ("redis://user:se/cr@et@host/0", "redis://***@host/0"),
        ("user:secret@host:6379", "***@host:6379"),
        ("redis:user:secret@host", "***@host"),
        ("http://user:secret@[::1", "http://***@[::1"),
        ("redis://host/0?db=1&Password=secret&x=2", "redis://host/0?db=1&Password=***&x=***"),
        ("http://host/path?key=secret#part", "http://host/path?key=***#part"),
        ("http://user:secret@host/?secret", "http://***@host/?***"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown
