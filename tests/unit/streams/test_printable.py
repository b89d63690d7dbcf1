import pytest

from streams.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [("Grüße", "Grüße"), ("a\x1b[2Jb\n", r"a\x1b[2Jb\n"), ("\ud800\u202e", r"\ud800\u202e")],
)
def test_what_a_terminal_would_obey_or_cannot_show_is_escaped(text, shown):
    assert printable(text) == shown
