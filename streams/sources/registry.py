"""The crawler formats by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.settings import MIB
from dehusk.streams.sources.ache import Ache
from dehusk.streams.sources.auto import Auto
from dehusk.streams.sources.cdr import Cdr
from dehusk.streams.sources.confluent import Framed
from dehusk.streams.sources.content_encoding import Compressed
from dehusk.streams.sources.declared import Declared
from dehusk.streams.sources.frontera import Frontera
from dehusk.streams.sources.html import Html
from dehusk.streams.sources.json_fields import DEFAULT_FIELDS, FieldPaths, JsonFields
from dehusk.streams.sources.norconex import Norconex
from dehusk.streams.sources.nutch import Nutch
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.sources.scrapy_cluster import ScrapyCluster
from dehusk.streams.sources.source import Source
from dehusk.streams.sources.warc import Warc
from dehusk.streams.sources.warc_pointer import WarcPointer


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What the formats need to know; small and picklable, for sources are opened where pages are read."""

    max_bytes: int = 16 * MIB
    """Largest page, after decompression, in bytes."""
    fields: FieldPaths = DEFAULT_FIELDS
    """Where the objects of `json` hold what."""
    warc_directory: Path | None = None
    """Where the WARC files lie that the messages of `warc-pointer` name."""
    schema_registry: str | None = field(default=None, repr=False)
    """URL of the registry of the schemas that framed messages name."""
    framed: bool = False
    """Whether every value is framed; else a frame is told from a value that only begins like one."""


_FORMATS: Mapping[str, Callable[[SourceSettings], Source]] = MappingProxyType(
    {
        "html": lambda settings: Html(settings.max_bytes),
        "json": lambda settings: JsonFields(settings.max_bytes, settings.fields),
        "scrapy-cluster": lambda settings: ScrapyCluster(settings.max_bytes),
        "nutch": lambda settings: Nutch(settings.max_bytes),
        "frontera": lambda settings: Frontera(settings.max_bytes),
        "cdr": lambda settings: Cdr(settings.max_bytes),
        "ache": lambda settings: Ache(settings.max_bytes),
        "norconex": lambda settings: Norconex(settings.max_bytes),
        "warc": lambda settings: Warc(settings.max_bytes),
        "warc-pointer": lambda settings: WarcPointer(settings.max_bytes, settings.warc_directory),
    }
)
FORMATS = tuple(_FORMATS)
"""The crawler formats: the values of `--as`."""
SOURCES = ("auto", *FORMATS)
"""The values of `--source`."""


def open_source(name: str, settings: SourceSettings) -> Source:
    """The source of this name, which reads compressed and framed messages too.

    Raises:
        ConfigurationError: there is no source of this name, or its settings do not fit.
    """
    if name not in SOURCES:
        raise ConfigurationError(f"there is no source {name!r}; choose one of {', '.join(SOURCES)}")
    guesses = name != Html.name
    framed = Framed(_open(name, settings), open_registry(settings), every=settings.framed, guesses=guesses)
    return Compressed(framed, settings.max_bytes)


def open_registry(settings: SourceSettings) -> SchemaRegistry | None:
    """The schema registry, if there is one.

    Raises:
        ConfigurationError: its URL is none.
    """
    return SchemaRegistry(settings.schema_registry) if settings.schema_registry else None


def _open(name: str, settings: SourceSettings) -> Source:
    formats = {each: make(settings) for each, make in _FORMATS.items()}
    if name == "auto":
        return Auto(list(formats.values()))
    return Declared(formats.pop(name), list(formats.values()), takes_any=name == Html.name)
