"""Pages for browsers of this machine."""

from base64 import b64encode
from hashlib import sha256

from dehusk.streams.local_pages import embedded, filled, page_policy


def test_embedded_json_has_no_markup() -> None:
    assert embedded('"<>&"') == '"\\u003c\\u003e\\u0026"'


def test_what_fills_a_template_is_not_filled_itself() -> None:
    assert filled("<p>%%one%%</p>%%two%%", {"one": "%%two%%", "two": "2"}) == "<p>%%two%%</p>2"


def test_a_page_may_run_its_own_script_alone() -> None:
    digest = b64encode(sha256(b"script").digest()).decode()
    policy = page_policy("script", is_served=False)
    assert f"script-src 'sha256-{digest}';" in policy
    assert "connect-src" not in policy
    assert page_policy("script", is_served=True) == f"{policy}; connect-src 'self'"
