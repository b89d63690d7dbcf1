"""The inspector's own page: one file of HTML with its script, its style and what it shows."""

from collections.abc import Sequence
from importlib.resources import files

from dehusk.streams.local_pages import embedded, filled, page_policy

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
    return filled(_read("inspector.html"), parts)


def policy(*, is_served: bool) -> str:
    """What a browser may do with the page: run its one script, and ask its own server for views."""
    return page_policy(_read("inspector.js"), is_served=is_served)
