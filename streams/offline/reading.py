"""Reading of the input of an offline run."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dehusk.inference.sites import host_of
from dehusk.schemas.outcomes import Damaged
from dehusk.schemas.pages import RawPage
from dehusk.streams.files.page_lines import DEFAULT_FIELDS, LineFields
from dehusk.streams.files.position import BEGINNING, InputPosition, Place
from dehusk.streams.files.readers import read_pages
from dehusk.streams.sources.page import Outcome
from dehusk.streams.stores.stored import InputPath


@dataclass(slots=True)
class Reading:
    """Pages of an input as they are read, and what was read so far."""

    paths: Sequence[InputPath]
    max_bytes: int
    base_url: str = ""
    warc_directory: InputPath | None = None
    """Folder of the WARC files that an index among the paths points to."""
    fields: LineFields = DEFAULT_FIELDS
    bytes: int = 0
    """Bytes of the pages' HTML."""
    position: InputPosition = field(default_factory=InputPosition)
    after: Place = BEGINNING
    """Place behind which it is read."""
    places: deque[Place] | None = None
    """Places of the items that were read, which their results are taken from; None if nobody takes them."""
    damaged: list[Damaged] = field(default_factory=list)
    without_host: int = 0
    """Pages that are of no site, as their URL has no host."""

    def __iter__(self) -> Iterator[Outcome]:
        pages = read_pages(
            self.paths,
            self.max_bytes,
            self.base_url,
            position=self.position,
            after=self.after,
            warc_directory=self.warc_directory,
            fields=self.fields,
        )
        for page in pages:
            if self.places is not None:
                self.places.append(self.position.place)
            if isinstance(page, Damaged):
                self.damaged.append(page)
            elif isinstance(page, RawPage):
                self.bytes += len(page.html)
                self.without_host += not host_of(page.url)
            yield page
