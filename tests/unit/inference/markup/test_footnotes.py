import pytest

from dehusk.inference.markup.footnotes import fragment_of, is_reference, label_of


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("1", "1"),
        ("[12]", "12"),
        ("(a)", "a"),
        ("[ 3 ]", "3"),
        ("note 4", "4"),
        ("[nb 5]", "5"),
        ("iv", "iv"),
    ],
)
def test_references_are_short(text: str, label: str) -> None:
    assert is_reference(text)
    assert label_of(text) == label


@pytest.mark.parametrize("text", ["*", "\u2020\u2020", "[*]"])
def test_signs_refer_without_a_label(text: str) -> None:
    assert is_reference(text)
    assert label_of(text) == ""


@pytest.mark.parametrize("text", ["", "12345", "Notes", "see below", "1.2.3", "[" * 1_000_000, "\u21a9"])
def test_other_links_are_no_references(text: str) -> None:
    assert not is_reference(text)


@pytest.mark.parametrize(("address", "name"), [("#fn%3A1", "fn:1"), ("/a#b", "b"), ("a#", ""), ("##x", "x")])
def test_a_fragment_is_decoded(address: str, name: str) -> None:
    assert fragment_of(address) == name
