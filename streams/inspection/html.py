"""The inspector's own page: one file of HTML with its script, its style and what it shows."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

_FILES = files(__package__)


def _read(name: str) -> str:
    return _FILES.joinpath(name).read_text("utf-8")


def html(page: str, views: Sequence[str], *, is_served: bool, chooser: str | None = None) -> str:
    """The inspector of a page, given as JSON; it asks the server for the views that it does not hold.

    It has a link to the chooser, where another page can be chosen, if there is one.
    """
    parts = {
        "policy": policy(is_served=is_served),
        "style": _read("inspector.css"),
        "chooser": "" if chooser is None else f'<a id="chooser" href="{chooser}">Inspect another page</a>',
        "page": embedded(page),
        "views": embedded(f"[{','.join(views)}]"),
        "script": _read("inspector.js"),
    }
    written = _read("inspector.html")
    pieces = written.split("%%")
    return "".join(piece if number % 2 == 0 else parts[piece] for number, piece in enumerate(pieces))


def policy(*, is_served: bool) -> str:
    """What a browser may do with the page: run its one script, and ask its own server for views."""
    digest = b64encode(sha256(_read("inspector.js").encode()).digest()).decode()
    allowed = {
        "default-src": "'none'",
        "script-src": f"'sha256-{digest}'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    if is_served:
        allowed["connect-src"] = "'self'"
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


def embedded(json: str) -> str:
    """JSON of ASCII alone as it may stand in a `<script>`: nothing in it is a tag or a comment."""
    for character in "<>&":
        json = json.replace(character, f"\\u{ord(character):04x}")
    return json
