"""Style sheets that a page links to, from a real server, and those that are refused."""

from collections.abc import AsyncIterator
from ipaddress import ip_address

import pytest
from aiohttp import web

from dehusk.streams.inspection.style_sheets import Address, fetch_style_sheets, is_public
from dehusk.streams.web.local_pages import serving


def is_here(address: Address) -> bool:
    return address.is_loopback


@pytest.fixture
async def server() -> AsyncIterator[str]:
    """A server of style sheets on this machine; its address ends with a slash."""
    bodies = {
        "a.css": (b"p{color:red}", "text/css"),
        "bom.css": (b"\xef\xbb\xbfp{}", "text/css"),
        "latin.css": ("p{content:'é'}".encode("latin-1"), "text/css; charset=latin-1"),
        "odd.css": (b"p{}", "text/css; charset=hex"),
        "page": (b"<p>", "text/html"),
        "large.css": (b"x" * 600_000, "text/css"),
    }

    async def answer(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name == "to-a":
            raise web.HTTPFound("/a.css")
        if name == "round":
            raise web.HTTPFound("/round")
        if name == "away":
            raise web.HTTPFound("file:///etc/passwd")
        if name not in bodies:
            raise web.HTTPNotFound
        body, kind = bodies[name]
        return web.Response(body=body, headers={"Content-Type": kind})

    pages = web.Application()
    pages.add_routes([web.get("/{name}", answer)])
    async with serving(pages, "127.0.0.1", 0) as address:
        yield address


async def test_style_sheets_come_in_order(server: str) -> None:
    names = ("a.css", "bom.css", "latin.css", "odd.css", "to-a")
    sheets = await fetch_style_sheets([server + name for name in names], is_here)
    assert [sheet.text for sheet in sheets] == [
        "p{color:red}",
        "p{}",
        "p{content:'é'}",
        "p{}",
        "p{color:red}",
    ]
    assert [sheet.error for sheet in sheets] == [None] * len(names)


async def test_what_is_no_style_sheet_says_why(server: str) -> None:
    names = ("page", "large.css", "none", "round", "away")
    urls = [*(server + name for name in names), "ftp://example.org/a", "data:text/css,p{}", "", "http://[::1"]
    sheets = await fetch_style_sheets(urls, is_here)
    assert [sheet.text for sheet in sheets] == [""] * len(urls)
    said = ["text/html", "524,288 bytes", "status 404", "too often", "http or https", *["http or https"] * 3]
    for sheet, words in zip(sheets, said, strict=False):
        assert words in str(sheet.error)
    assert sheets[-1].error


@pytest.mark.parametrize(
    "name", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::1]", "①②⑦.0.0.1"]
)
async def test_this_machine_is_not_asked_by_any_name(server: str, name: str) -> None:
    (sheet,) = await fetch_style_sheets([server.replace("127.0.0.1", name) + "a.css"])
    assert sheet.text == ""
    assert sheet.error


@pytest.mark.parametrize(
    "address",
    """
    0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 192.168.1.1 224.0.0.1 255.255.255.255
    :: ::1 fe80::1 fc00::1 ff02::1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 64:ff9b::10.0.0.1 64:ff9b:1::7f00:1
    ::7f00:1 ::ffff:0:127.0.0.1 fec0::1 2002:a00:1:: 2001:0:1::1
    """.split(),  # noqa: SIM905
)
def test_addresses_that_are_not_of_the_internet_are_refused(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111"])
def test_addresses_of_the_internet_are_asked(address: str) -> None:
    assert is_public(ip_address(address))
