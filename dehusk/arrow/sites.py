"""Statistics of sites by an engine's aggregation: what each page adds, and what each site has."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from itertools import islice
from typing import Any, Unpack

import pyarrow as pa

from dehusk.arrow.columns import Batch, as_text, index_of, indexes_of, pages_of, value_of
from dehusk.arrow.processes import kept_cleaning
from dehusk.inference.sites import site_of
from dehusk.inputs import read_page
from dehusk.many import Cleaning
from dehusk.options import Options
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import RawPage
from dehusk.schemas.sites import SiteObservation
from dehusk.streams.offline.run import BATCH_PAGES
from dehusk.streams.sites.aggregated import aggregate, pack_page
from dehusk.streams.sources.page import known_url

_OBSERVED = pa.schema([("site", pa.string()), ("observation", pa.binary())])
_STATISTICS = pa.schema([("site", pa.string()), ("site_statistics", pa.binary())])


def with_site(batch: Batch, *, url: str) -> Batch:
    """Return a batch with another column, `site`: the host of each URL, by which `site_statistics` counts.

    Raises:
        ConfigurationError: there is no such column, or one of the name `site`.
    """
    urls = map(as_text, map(value_of, batch.column(index_of(batch, url))))
    if "site" in batch.schema.names:
        raise ConfigurationError("there is a column 'site' already")
    sites = [site_of(known_url(url) or url.strip()) or None if isinstance(url, str) else None for url in urls]
    return type(batch).from_arrays(
        [*batch.columns, pa.array(sites, pa.string())], schema=batch.schema.append(_OBSERVED.field("site"))
    )


def observe(
    batch: Batch,
    *,
    html: str,
    url: str,
    id: str | None = None,  # noqa: A002 the field's name
    content_type: str | None = None,
    fetched_at: str | None = None,
    language: str | None = None,
    error: str | None = None,
    processes: int = 1,
    page_seconds: float = 10.0,
    **options: Unpack[Options],
) -> Batch:
    """Label the page of each row, and return what it adds to the statistics of its site.

    The result has the columns `site` and `observation`, some 2 kB a page, and a row for each page that has a
    document and a host in its URL, in order. The arguments are those of `clean`; the labels are those that it
    corrects, if these are the same.
    """
    crawled = {"content_type": content_type, "fetched_at": fetched_at, "language": language, "error": error}
    read = indexes_of(batch, {"html": html, "url": url, "id": id, **crawled})
    rows: list[tuple[str, bytes]] = []
    if batch.num_rows:
        with kept_cleaning(options, processes, page_seconds) as cleaning:
            pages = _observe(pages_of(batch, read), cleaning)
            rows += [(page.site, pack_page(page)) for page in pages if page.site]
    return _of_columns(type(batch), rows, _OBSERVED)


def site_statistics(batch: Batch) -> Batch:
    """Count the pages of each site, and return a row for each, with the columns `site` and `site_statistics`.

    The batch has the columns of `observe`. All pages of a site have to be in it, as copies are counted once:
    engines group by the site. They are counted in their order, as `dehusk clean --two-pass` does. The
    statistics take 12 bytes for each text that is on several pages, and 32 for each structure.

    Raises:
        ConfigurationError: there are no such columns, or an observation is something else.
    """
    pages: dict[str, list[bytes]] = {}
    sites, observations = (batch.column(index_of(batch, name)) for name in _OBSERVED.names)
    for site, observation in zip(sites, observations, strict=True):
        if (name := site.as_py()) is not None:
            packed = observation.as_py()
            if not isinstance(packed, bytes | None):
                raise ConfigurationError(f"an observation is {type(packed).__name__}, not bytes")
            pages.setdefault(name, []).append(packed or b"")
    rows = [(site, aggregate(site, packed)) for site, packed in pages.items()]
    return _of_columns(type(batch), rows, _STATISTICS)


def _of_columns(kind: type[Batch], rows: Sequence[tuple[str, bytes]], schema: pa.Schema) -> Batch:
    columns = [pa.array([row[number] for row in rows], field.type) for number, field in enumerate(schema)]
    return kind.from_arrays(columns, schema=schema)


def _observe(pages: Iterator[dict[str, Any]], cleaning: Cleaning) -> Iterator[SiteObservation]:
    outcomes = (read_page(page, cleaning.max_page_bytes) for page in pages)
    readable = (outcome for outcome in outcomes if isinstance(outcome, RawPage))
    begun: deque[Future[list[SiteObservation]]] = deque()
    while batch := list(islice(readable, BATCH_PAGES)):
        begun.append(cleaning.observe(batch))
        if len(begun) > cleaning.processes + 1:
            yield from begun.popleft().result()
    for observations in begun:
        yield from observations.result()
