"""Metadata of a page, apart from its content."""

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum


class MetadataLevel(StrEnum):
    """Effort to find the metadata of a page."""

    NONE = "none"
    """None: `metadata` is null."""
    FAST = "fast"
    """Declarations for machines."""
    FULL = "full"
    """Also bylines, and dates near the headline, that readers see, for lack of such declarations."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of a page; None or empty where it says nothing that can be understood."""

    author: str | None = None
    """Names of the authors, separated by a semicolon and a space."""
    published: date | datetime | None = None
    """Time of publication with its offset from UTC (RFC 3339); a day alone where no time or zone is told."""
    published_day: date | None = field(init=False)
    """Day of publication, at the offset of `published`."""
    modified: date | datetime | None = None
    """Time of the last change, in the form of `published`."""
    modified_day: date | None = field(init=False)
    """Day of the last change, at the offset of `modified`."""
    description: str | None = None
    site_name: str | None = None
    canonical_url: str | None = None
    """Preferred address of the page: absolute, of HTTP or HTTPS, like all of its addresses."""
    image: str | None = None
    """Address of the image that stands for the page."""
    tags: tuple[str, ...] = ()
    page_type: str | None = None
    """Type of schema.org, e.g. `NewsArticle`, else of Open Graph, e.g. `article`."""
    license: str | None = None
    """Address of the licence, else its name."""
    robots: tuple[str, ...] = ()
    """Directives for robots in lower case, e.g. `noindex`; `none` is given as `noindex` and `nofollow`."""

    def __post_init__(self) -> None:
        """Set the days."""
        object.__setattr__(self, "published_day", self.published and day_of(self.published))
        object.__setattr__(self, "modified_day", self.modified and day_of(self.modified))


@dataclass(frozen=True, slots=True)
class PageMetadata(Metadata):
    """Metadata of a page, and its headline, which a document has beside them."""

    headline: str | None = None
    """Headline as documents have it without statistics of their site."""


def day_of(when: date | datetime) -> date:
    """Return the day of a date or time, where its clock shows it."""
    return when.date() if isinstance(when, datetime) else when
