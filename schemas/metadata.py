"""What a page says of itself, beside its content."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum


class MetadataLevel(StrEnum):
    """How far the metadata of a page are looked for."""

    NONE = "none"
    """Not at all: `metadata` is null."""
    FAST = "fast"
    """Where pages declare them to machines."""
    FULL = "full"
    """Where these say nothing, in bylines and dates that readers see, too."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page says of itself; None or empty where it says nothing that can be understood."""

    author: str | None = None
    """The names of those who wrote it, separated by `; `."""
    published: date | datetime | None = None
    """In UTC; the day alone where no time, or no time zone, is declared."""
    modified: date | datetime | None = None
    description: str | None = None
    site_name: str | None = None
    canonical_url: str | None = None
    """Absolute, of HTTP or HTTPS, like all of its addresses."""
    image: str | None = None
    tags: tuple[str, ...] = ()
    page_type: str | None = None
    """The type of schema.org, e.g. `NewsArticle`, else of Open Graph, e.g. `article`."""
    license: str | None = None
    """Its address, else its name."""
    robots: tuple[str, ...] = ()
    """What the page asks of robots, e.g. `noindex`, in lower case."""
