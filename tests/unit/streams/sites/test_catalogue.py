"""Sites by the names that people type."""

import pytest

from dehusk.streams.sites.catalogue import names


@pytest.mark.parametrize(
    ("text", "sites"),
    [
        ("http://WWW.mill.test/wheel/x", ["mill.test", ".mill.test", "mill.test/wheel"]),
        ("https://a.mill.test:8080", ["a.mill.test", ".mill.test", "a.mill.test/"]),
        ("www.Mill.test", ["mill.test", ".mill.test", "mill.test/"]),
        ("mill.test.", ["mill.test", ".mill.test", "mill.test/"]),
        ("mill.test:8080", ["mill.test", ".mill.test", "mill.test/"]),
        ("Mühle.test", ["xn--mhle-0ra.test", ".xn--mhle-0ra.test", "xn--mhle-0ra.test/"]),
        (".Mill.test", [".mill.test"]),
        (".mühle.test", [".xn--mhle-0ra.test"]),
        ("Mühle.test/~Anna", ["xn--mhle-0ra.test/~Anna"]),
        ("mill.test/", ["mill.test/"]),
        ("192.0.2.1", ["192.0.2.1", "192.0.2.1/"]),
        ("03a87d95c09d138b", ["03a87d95c09d138b", "03a87d95c09d138b/"]),
        ("file:///a.html", ["file:///a.html"]),
        ("/a", ["/a"]),
        (".", ["."]),
        ("", [""]),
        ("[", ["["]),
    ],
)
def test_a_site_is_named_by_urls_and_hosts_however_written(text: str, sites: list[str]) -> None:
    assert names(text) == sites
