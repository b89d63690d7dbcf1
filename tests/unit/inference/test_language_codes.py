import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.document.language import load_model
from dehusk.inference.language_codes import language_tag, primary_language


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


@pytest.mark.parametrize(
    ("tag", "read"),
    [
        ("en", "en"),
        ("zh-TW", "zh-TW"),
        ("zh-hant", "zh-Hant"),
        ("ZH_hans_cn", "zh-Hans-CN"),
        ("zh-CHT", "zh-Hant"),
        ("pt-br, en", "pt-BR"),
        ("es-419", "es-419"),
        ("iw-IL", "he-IL"),
        ("de-1996", "de"),
        ("sl-rozaj-IT", "sl-IT"),
        ("en-GB-x-abcd-us", "en-GB"),
        ("de-x-at", "de"),
        ("en-US-CA", "en-US"),
        ("en-", "en"),
        ("en-\u0131\u0131", "en"),
        ("en_US.UTF-8", "en"),
    ],
)
def test_a_tag_keeps_script_and_region(tag: str, read: str) -> None:
    assert language_tag(tag) == read
    assert language_tag(read) == read


@given(st.text(st.sampled_from("enzhTW-_, .4191ıß\0"), max_size=20))
def test_any_tag_is_a_tag_of_that_form_or_none(tag: str) -> None:
    read = language_tag(tag)
    assert read is None or re.fullmatch("[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?", read)
    assert primary_language(tag) == (read and read.split("-")[0])


@pytest.mark.parametrize("tag", [None, "", "12", "und", "zxx", "mul", "x-default", "english", "é", "cn"])
def test_what_is_no_code_of_a_language_declares_none(tag: str | None) -> None:
    assert primary_language(tag) is None


def test_the_languages_of_the_model_are_known() -> None:
    codes = load_model().labels
    assert len(codes) > 150
    assert tuple(map(primary_language, codes)) == codes
