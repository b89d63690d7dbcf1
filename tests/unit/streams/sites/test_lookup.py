"""Sites by the names that people type."""

import pytest

from dehusk.streams.sites.lookup import named


@pytest.mark.parametrize(
    ("text", "site"),
    [
        ("http://WWW.mill.test/wheel", "mill.test"),
        ("www.Mill.test", "mill.test"),
        ("mill.test.", "mill.test"),
        ("mill.test:8080", "mill.test"),
        (".mill.test", ".mill.test"),
        ("mill.test/~Anna", "mill.test/~Anna"),
        ("03a87d95c09d138b", "03a87d95c09d138b"),
        ("", ""),
        ("[", "["),
    ],
)
def test_a_site_is_named_by_urls_and_hosts_however_written(text: str, site: str) -> None:
    assert named(text) == site
