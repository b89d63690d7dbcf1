import pytest

from dehusk.inference.document.addresses import Addresses


@pytest.mark.parametrize(
    ("url", "base", "address", "found"),
    [
        ("https://a.test/b/c", "", "d", "https://a.test/b/d"),
        ("https://a.test/b/c", "/e/", "d", "https://a.test/e/d"),
        ("https://a.test/b/c", "https://x.test/", "d", "https://x.test/d"),
        ("https://a.test/b/c", "", "http:javascript:x", None),
        ("https://a.test/b/c", "", "https:", "https://a.test/b/c"),
        ("https://a.test/b/c", "", "HTTPS://B.test", "https://B.test"),
        ("", "", "d?e#f", "d?e#f"),
        ("", "", "//x.test/d", None),
        ("", "", "javascript:x", None),
        ("", "", "/wiki/File:d.jpg", "/wiki/File:d.jpg"),
        ("", "", "d#t=1:20", "d#t=1:20"),
        ("", "", "?u=http://x", "?u=http://x"),
        ("", "", "http://x.test/", "http://x.test/"),
        ("page-1", "", "d", "d"),
        ("https://a.test/b/c", "", "d\\e?f\\g", "https://a.test/b/d/e?f%5Cg"),
        ("https://a.test/b/c", "", "https:\\\\x.test\\d", "https://x.test/d"),
        ("https://a.test/b/c", "", "mailto:a\\b@x.test", "mailto:a%5Cb@x.test"),
        ("", "", "\\\\x.test\\d", None),
        ("https://a.test/", "http://[", "d", "https://a.test/d"),
    ],
)
def test_addresses_are_absolute_where_the_page_has_one(
    url: str, base: str, address: str, found: str | None
) -> None:
    assert Addresses(url, base).of_link(address) == found


def test_a_malformed_address_of_a_page_makes_no_links() -> None:
    addresses = Addresses("http://[", "")
    assert addresses.of_link("d") in (None, "d")
    assert addresses.of_link("http://x.test/") == "http://x.test/"


@pytest.mark.parametrize("address", ["mailto:a@b.test", "ftp://x.test/y", "data:image/png;base64,AA"])
def test_images_are_of_web_servers(address: str) -> None:
    assert Addresses("https://a.test/", "").of_image(address) is None
