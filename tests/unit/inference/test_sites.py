from datetime import UTC, datetime

import pytest

from inference.sites import identify, primary_language, site_of
from schemas.pages import PageIdentity, RawPage


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.Example.org/a?b#c", "example.org"),
        ("http://example.org:8080/", "example.org"),
        ("http://user:word@sub.example.org/", "sub.example.org"),
        ("http://example.org./", "example.org"),
        ("http://[::1]:80/", "::1"),
        ("http://bücher.example/", "bücher.example"),
        ("http://[broken/", ""),
        ("no url", ""),
        ("", ""),
    ],
)
def test_a_site_is_the_host(url: str, site: str) -> None:
    assert site_of(url) == site


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"),
        ("EN-gb", "en"),
        ("de_AT", "de"),
        ("fr, en", "fr"),
        (" zh-Hans ", "zh"),
        ("", None),
        (None, None),
        ("12", None),
        ("english language", None),
        ("é", None),
        ("abcdefghi", None),
    ],
)
def test_a_primary_language_is_the_first_subtag(tag: str | None, language: str | None) -> None:
    assert primary_language(tag) == language


def test_an_identity_is_all_but_the_html() -> None:
    fetched = datetime(2024, 1, 1, tzinfo=UTC)
    page = RawPage("http://www.x.test/a", b"<p>x", None, fetched, "en-US, de")
    assert identify(page) == PageIdentity(
        "http://www.x.test/a", "http://www.x.test/a", "x.test", fetched, "en", 4
    )
    assert identify(RawPage("http://x.test/", b"", "7")).id == "7"
