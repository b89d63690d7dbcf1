from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dehusk.inference.sites import SiteKey, host_of, identify, key_of, open_naming, site_of
from dehusk.schemas.pages import PageIdentity, RawPage


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.Example.org/a?b#c", "example.org"),
        ("http://example.org:8080/", "example.org"),
        ("http://user:word@sub.example.org/", "sub.example.org"),
        ("http://example.org./", "example.org"),
        ("http://.example.org/", "example.org"),
        ("http://192.0.2.7:80/", "192.0.2.7"),
        ("file:///data/page.html", ""),
        ("http://[::1]:80/", "::1"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://WWW.BÜCHER.example.:80/", "xn--bcher-kva.example"),
        ("http://bu\u0308cher.example/", "xn--bcher-kva.example"),
        ("https://XN--bcher-KVA.example:443/", "xn--bcher-kva.example"),
        ("http://faß.example/", "xn--fa-hia.example"),
        ("http://例え。テスト/", "xn--r8jz45g.xn--zckzah"),
        ("http://☃.example/", "xn--n3h.example"),
        ("http://\udc80.example/", "xn--f89b.example"),
        ("http://[broken/", ""),
        ("no url", ""),
        ("", ""),
    ],
)
def test_a_site_is_the_host(url: str, site: str) -> None:
    assert site_of(url) == open_naming(SiteKey.HOST)(url) == site


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.Shop.Example.co.uk:8080/a?b#c", ".example.co.uk"),
        ("http://example.org/", ".example.org"),
        ("http://anna.github.io/", ".anna.github.io"),
        ("http://a.anna.blogspot.com/", ".anna.blogspot.com"),
        ("http://a.b.unlisted/", ".b.unlisted"),
        ("http://a.b.公司.cn/", ".b.xn--55qx5d.cn"),
        ("http://a.b.xn--55qx5d.cn/", ".b.xn--55qx5d.cn"),
        ("http://github.io/", "github.io"),
        ("http://www.localhost./", ".www.localhost"),
        ("http://localhost:8000/", "localhost"),
        ("http://192.0.2.7/", "192.0.2.7"),
        ("http://[2001:db8::7]/", "2001:db8::7"),
        ("http://a..example.org/", "a..example.org"),
        ("http://[broken/", ""),
        ("file:///data/page.html", ""),
        ("", ""),
    ],
)
def test_a_site_is_the_registrable_domain(url: str, site: str) -> None:
    assert open_naming(SiteKey.DOMAIN)(url) == site


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.Example.org/~Anna/a/b.html", "example.org/~Anna"),
        ("http://example.org/blog/", "example.org/blog"),
        ("http://example.org/blog", "example.org/"),
        ("http://example.org/page.html?a=/b/c", "example.org/"),
        ("http://example.org", "example.org/"),
        ("http://example.org//a/b", "example.org/"),
        ("http://192.0.2.7:80/a/", "192.0.2.7/a"),
        ("http://[::1]/%7Ea/", "::1/%7Ea"),
        ("http://BÜCHER.example:80/a/", "xn--bcher-kva.example/a"),
        ("http://[broken/a/", ""),
        ("file:///data/page.html", ""),
        ("no url/a/b", ""),
    ],
)
def test_a_site_is_the_host_and_the_first_folder(url: str, site: str) -> None:
    assert open_naming(SiteKey.PATH)(url) == site


@pytest.mark.parametrize("url", ["http://example.org/", "http://a.example.org/b/c", "http://a.github.io/"])
def test_a_site_has_another_name_by_each_key(url: str) -> None:
    names = {key: open_naming(key)(url) for key in SiteKey}
    assert len(set(names.values())) == len(SiteKey)
    assert all(key_of(name) is key for key, name in names.items())


@pytest.mark.parametrize("host", ["\ufe47", "a\ufe48", "\uff3bb\uff3d"])
def test_what_is_no_host_in_ascii_is_none(host: str) -> None:
    assert not host_of(f"http://{host}/")


@settings(max_examples=500)
@given(st.text(max_size=20))
def test_any_host_has_a_spelling_that_is_its_own(host: str) -> None:
    found = host_of(f"http://{host}/")
    assert found.isascii()
    assert host_of(f"http://{found}/") == found or ":" in found


def test_an_identity_is_all_but_the_html() -> None:
    fetched = datetime(2024, 1, 1, tzinfo=UTC)
    page = RawPage("http://www.x.test/a", b"<p>x", None, fetched, "en-US, de")
    assert identify(page) == PageIdentity(
        "http://www.x.test/a", "http://www.x.test/a", "x.test", fetched, "en-US", 4
    )
    assert identify(RawPage("http://x.test/", b"", "7")).id == "7"
