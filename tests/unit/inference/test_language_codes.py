import pytest

from dehusk.inference.document.language import load_model
from dehusk.inference.language_codes import primary_language


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en-GB", "en"),
        ("de_AT", "de"),
        ("fr, en", "fr"),
        (" zh-Hans ", "zh"),
        ("ZU", "zu"),
        ("fil-PH", "fil"),
        ("iw", "he"),
        ("in-ID", "id"),
        ("ji", "yi"),
    ],
)
def test_a_primary_language_is_the_first_subtag(tag: str, language: str) -> None:
    assert primary_language(tag) == language


@pytest.mark.parametrize("tag", [None, "", "12", "und", "zxx", "mul", "x-default", "english", "é", "cn"])
def test_what_is_no_code_of_a_language_declares_none(tag: str | None) -> None:
    assert primary_language(tag) is None


def test_the_languages_of_the_model_are_known() -> None:
    labels, _ = load_model().predict("a", k=176)
    codes = [label.removeprefix("__label__") for label in labels]
    assert len(codes) > 150
    assert [primary_language(code) for code in codes] == codes
