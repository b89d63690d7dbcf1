"""Places that links lead to, as the columns of a block and of a page."""

import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.encoding.features import ADDRESS_FEATURES, LINK_FEATURES
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import StructureTensors

URL = "https://www.mill.example/news/old-mill-turns_again.html"
PLACES = ("link_leaves_site", "link_in_page", "link_to_no_page", "link_to_page")
PATHS = ("link_above", "link_below", "link_beside")


def encoded(html: str, url: str = URL) -> StructureTensors:
    tensors = encode(segment(html.encode(), url=url)).structure
    assert tensors is not None
    return tensors


def of_link(html: str, url: str = URL, block: int = 0) -> dict[str, int]:
    """The columns of a block's link, by their names."""
    row = encoded(html, url).links[block].tolist()
    return dict(zip([each.name for each in LINK_FEATURES], row, strict=True))


def of_page(html: str, url: str = URL) -> dict[str, int]:
    row = encoded(html, url).address.tolist()
    return dict(zip([each.name for each in ADDRESS_FEATURES], row, strict=True))


def flags(columns: dict[str, int], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if columns[name] == 255]


@pytest.mark.parametrize(
    ("href", "flagged"),
    [
        ("https://other.example/a", ["link_leaves_site"]),
        ("//other.example/", ["link_leaves_site"]),
        ("https://notmill.example/", ["link_leaves_site"]),
        ("#notes", ["link_in_page"]),
        ("mailto:ada@mill.example", ["link_to_no_page"]),
        ("javascript:void(0)", ["link_to_no_page"]),
        ("", []),
        ("/", ["link_above"]),
        ("/news/", ["link_above"]),
        ("/news/index.html", ["link_above"]),
        ("../news", ["link_above"]),
        ("HTTP://MILL.example:80/NEWS/OLD%2Dmill-turns_again.html#end", ["link_to_page"]),
        ("?page=2", ["link_to_page"]),
        ("the-new-mill.html", ["link_beside"]),
        ("https://shop.mill.example/news/./x/../flour", ["link_beside"]),
        ("old-mill-turns_again.html/comments", ["link_below"]),
        ("/team/ada", []),
        ("/about", []),
        ("https://[::1", ["link_leaves_site"]),
    ],
)
def test_a_link_leads_to_a_place_relative_to_the_page(href: str, flagged: list[str]) -> None:
    html = (
        f"<a href='{href}'>The mill</a><p><a href=/about>About</a></p>" + "<p><a href=/team>Team</a></p>" * 3
    )
    columns = of_link(html)
    assert flags(columns, PLACES + PATHS) == flagged
    assert columns["link"] == (255 if href else 0)


def test_the_share_of_the_path_tells_how_near_a_page_is() -> None:
    url = "https://mill.example/a/b/c/d"
    shares = [
        of_link(f"<a href={href}>x</a>", url)["link_path_shared_share"] for href in ("/", "/a", "/a/b/c/x/y")
    ]
    assert shares == [0, 64, 191]


def test_relative_addresses_are_relative_to_the_declared_base() -> None:
    html = "<base href=/archive/><a href=x.html>The mill</a>"
    assert flags(of_link(html, "https://mill.example/archive/y.html"), PATHS) == ["link_beside"]
    assert flags(of_link(html, "https://mill.example/news/y.html"), PATHS) == []


def test_the_longest_link_of_a_block_counts() -> None:
    html = "<p><a href=#1>1</a> is what <a href=//other.example>somebody</a> says <a href=#2>2</a></p>"
    html += "<p><a href=/>Mill</a></p>"
    assert flags(of_link(html), PLACES) == ["link_leaves_site"]
    assert of_link("<p>No link</p>") == dict.fromkeys([each.name for each in LINK_FEATURES], 0)


def test_a_link_is_named_like_its_text_or_the_page_is() -> None:
    title = "<title>The old mill turns again</title>"
    columns = of_link(f"{title}<a href=/news/The_New_Mill.html>The new mill is here</a>")
    assert (columns["link_name_in_text_share"], columns["link_name_in_title_share"]) == (255, 170)
    assert columns["link_name_has_digits"] == 0
    columns = of_link(f"{title}<a href=/news/2024-m%C3%BChle>Die Mühle</a>")
    assert (columns["link_name_in_text_share"], columns["link_name_has_digits"]) == (128, 255)
    assert of_page(title)["address_name_in_title_share"] == 255


def test_links_to_one_page_and_from_one_folder_are_counted() -> None:
    cards = "".join(f"<p><a href=/news/{name}>x</a></p>" for name in ("a", "b", "c", "c"))
    of_first, of_last = of_link(cards), of_link(cards, block=3)
    assert of_first["link_log_repeats"] == 0 < of_last["link_log_repeats"]
    assert (
        of_first["link_log_siblings"]
        == of_last["link_log_siblings"]
        == of_link(cards, block=2)["link_log_siblings"]
        > 0
    )


def test_without_its_address_nothing_is_relative_to_the_page() -> None:
    html = "<a href=/news/a>The mill</a><p><a href=https://other.example>Others</a></p><p><a href=b>b</a></p>"
    columns = of_link(html, url="")
    assert flags(columns, PLACES + PATHS) == []
    assert columns["link_path_shared_share"] == 0 < columns["link_log_depth"]
    assert flags(of_link(html, url="", block=1), PLACES) == ["link_leaves_site"]
    assert {name: value for name, value in of_page(html, url="").items() if value} == {
        "links_leave_site_share": 85
    }


@pytest.mark.parametrize(
    "declared",
    [
        f"<link rel=canonical href={URL}>",
        f"<meta property=og:url content={URL}>",
        f"<link rel=canonical href={URL}><base href=/>",
    ],
)
def test_without_its_address_the_declared_one_counts(declared: str) -> None:
    html = f"<head>{declared}</head><a href=/news/the-new-mill.html>The mill</a>"
    assert flags(of_link(html, url=""), PATHS) == ["link_beside"]
    assert flags(of_link(html, url="https://mill.example/"), PATHS) == ["link_below"]
    assert of_page(html, url="")["address"] == 255


def test_the_host_that_most_links_name_is_the_site_s_own() -> None:
    html = "<a href=https://mill.example/a>x</a>" + "<p><a href=https://mill.example/news/b>x</a></p>" * 2
    assert flags(of_link(html, "https://copies.example/mill/"), PLACES) == []


def test_the_address_of_a_page_tells_of_its_kind() -> None:
    root = of_page("<a href=/a>a</a><p><a href=//other.example>b</a></p>", "https://mill.example/index.php")
    assert (root["address_is_root"], root["links_below_share"], root["links_leave_site_share"]) == (
        255,
        128,
        128,
    )
    product = of_page("<a href=y>y</a>", "https://mill.example/shop/item-7.php?colour=red")
    assert flags(product, ("address_name_has_digits", "address_has_query", "address_has_extension")) == [
        "address_name_has_digits",
        "address_has_query",
        "address_has_extension",
    ]
    assert (product["links_beside_share"], product["address_is_root"]) == (255, 0)


@pytest.mark.parametrize(
    ("url", "kinds"),
    [
        ("https://forums.mill.example/t/42", ["forum"]),
        ("https://mill.example/viewtopic.php?t=42", ["forum"]),
        ("https://mill.example/Products/item_7", ["product"]),
        ("https://mill.example/blog/category/flour", ["article", "listing"]),
        ("https://docs.mill.example/", ["documentation"]),
        ("https://mill.example/dienstleistungen/", ["service"]),
        ("https://mill.example/blogger/forumula", []),
        ("forum/7", []),
        ("", []),
    ],
)
def test_words_of_an_address_name_kinds_of_pages(url: str, kinds: list[str]) -> None:
    columns = of_page("<p>The mill</p>", url)
    named = tuple(name for name in columns if name.startswith("address_names_"))
    assert flags(columns, named) == [f"address_names_{kind}" for kind in kinds]


@pytest.mark.parametrize(
    "url", ["", "mill", "file:///mill", "https://", "http://[", "https://m\ud800.example/%zz/%", "%"]
)
@pytest.mark.parametrize(
    "href", ["%", "%f", "http:", "http:/", "///", "/..", "../..", ":", "a:", "\t\n", "ü" * 300, "?", "%2f"]
)
def test_odd_addresses_are_read(url: str, href: str) -> None:
    tensors = encoded(f'<p><a href="{href}">The mill</a></p>', url)
    assert tensors.links.shape == (1, len(LINK_FEATURES))
    assert tensors.address.shape == (len(ADDRESS_FEATURES),)
