"""The crawler formats: by name, by the marks of a message (`auto`), or declared for all messages."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.settings import MIB
from dehusk.streams.sources.compression import is_binary
from dehusk.streams.sources.envelopes import Compressed, Framed
from dehusk.streams.sources.fields import first, json_in, parse_json, quote_names
from dehusk.streams.sources.html import Html, is_answer
from dehusk.streams.sources.indexers import Norconex, Nutch
from dehusk.streams.sources.json_fields import DEFAULT_PATHS, FieldPaths, JsonFields
from dehusk.streams.sources.memex import Ache, Cdr
from dehusk.streams.sources.reference import NO_ROOT, Reference
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.sources.sniffing import other_format
from dehusk.streams.sources.source import CrawlerFormat, Decoded, Source
from dehusk.streams.sources.spiders import Frontera, ScrapyCluster
from dehusk.streams.sources.warc import Warc
from dehusk.streams.sources.warc_pointer import NO_DIRECTORY, WarcPointer
from dehusk.streams.stores.roots import Root
from dehusk.streams.stores.stored import InputPath, StoredPath

_JSON_OBJECT = re.compile(rb'\s*\[?\s*\{\s*"')
_SHOWN = 60
_BYTES_SHOWN = 8
_ADVICE = "name yours with --source"


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Settings of the formats; small and picklable, for sources are opened where pages are read."""

    max_bytes: int = 16 * MIB
    """Largest page, after decompression, in bytes."""
    fields: FieldPaths = DEFAULT_PATHS
    """Paths of the fields in the objects of `json`."""
    warc_directory: InputPath | None = None
    """Folder of the WARC files that the messages of `warc-pointer` name."""
    reference_roots: tuple[InputPath, ...] = ()
    """Folders of what the messages of `reference` may name."""
    schema_registry: str | None = field(default=None, repr=False)
    """URL of the registry of the schemas that framed messages name."""
    framed: bool = False
    """True if every value is framed; else a frame is told from a value that only begins like one."""

    @property
    def waits_for(self) -> str | None:
        """Name of what messages may wait for; None if they need nothing else."""
        if self.schema_registry is not None:
            return "schema-registry"
        folders = (self.warc_directory, *self.reference_roots)
        return "store" if any(isinstance(folder, StoredPath) for folder in folders) else None


_FORMATS: Mapping[str, Callable[[SourceSettings], CrawlerFormat]] = MappingProxyType(
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
        "reference": lambda settings: Reference(
            settings.max_bytes, tuple(map(Root.of, settings.reference_roots)), settings.fields
        ),
    }
)
FORMATS = tuple(name for name in _FORMATS if name != Reference.name)
"""The crawler formats: the values of `--as`."""
SOURCES = ("auto", *_FORMATS)
"""The values of `--source`."""


def lacking_folder(source: str, settings: SourceSettings) -> str | None:
    """Return the advice to set the folder of what the messages of a source point to; None if there is one."""
    if source == WarcPointer.name and settings.warc_directory is None:
        return NO_DIRECTORY
    return NO_ROOT if source == Reference.name and not settings.reference_roots else None


def open_source(name: str, settings: SourceSettings) -> Source:
    """Open the source of this name, which reads compressed and framed messages too.

    Raises:
        ConfigurationError: there is no source of this name, or its settings do not fit.
    """
    if name not in SOURCES:
        raise ConfigurationError(f"there is no source {name!r}; choose one of {', '.join(SOURCES)}")
    guesses = name != Html.name
    framed = Framed(_open(name, settings), open_registry(settings), every=settings.framed, guesses=guesses)
    return Compressed(framed, settings.max_bytes)


def open_crawler_format(name: str, settings: SourceSettings) -> CrawlerFormat:
    """Open the format of this name, one of `FORMATS`, which writes pages as the crawler does."""
    return _FORMATS[name](settings)


def open_registry(settings: SourceSettings) -> SchemaRegistry | None:
    """Open the schema registry, if there is one.

    Raises:
        ConfigurationError: its URL is none.
    """
    return SchemaRegistry(settings.schema_registry) if settings.schema_registry else None


def _open(name: str, settings: SourceSettings) -> Source:
    formats = {each: _FORMATS[each](settings) for each in FORMATS}
    reference = _FORMATS[Reference.name](settings)
    if name == "auto":
        return Auto(list(formats.values()), reference)
    declared = reference if name == Reference.name else formats.pop(name)
    return Declared(declared, list(formats.values()), takes_any=name == Html.name)


class Auto:
    """All formats: each message is read as the one that recognises it, whatever came before it."""

    name = "auto"

    def __init__(self, sources: Sequence[Source], reference: Source) -> None:
        """Take the formats, and that of messages which none of them recognises, but which name a page."""
        self._sources = sources
        self._reference = reference

    def recognises(self, message: Message) -> bool:
        """Return True if one format recognises the message, and no other."""
        return len(_recognising(self._sources, message)) == 1

    def decode(self, message: Message) -> Sequence[Decoded]:
        """Decode the message in the format that recognises it."""
        recognising = possible_formats(self._sources, message)
        if len(recognising) == 1:
            return recognising[0].decode(message)
        if recognising:
            names = " and ".join(source.name for source in recognising)
            return [Broken(BrokenReason.UNKNOWN_FORMAT, f"it could be {names}: {_ADVICE}")]
        if self._reference.recognises(message):
            return self._reference.decode(message)
        return [_reject_unknown(message.value or b"")]


class Declared:
    """A format that all messages are declared to have (`--source NAME`); one of another is a dead letter."""

    def __init__(self, source: Source, others: Sequence[Source], *, takes_any: bool) -> None:
        """Take a format, and the others by which a message is known that is not of it.

        With `takes_any`, any value could be of the format, so what another format recognises is none of it.
        """
        self._source = source
        self._others = others
        self._takes_any = takes_any
        self.name = source.name

    def recognises(self, message: Message) -> bool:
        """Return True if the format recognises the message."""
        return self._source.recognises(message)

    def decode(self, message: Message) -> Sequence[Decoded]:
        """Decode the message in the format; of one of another format, tell which one that is."""
        outcomes = self._source.decode(message)
        if not self._takes_any and not all(map(_is_of_another, outcomes)):
            return outcomes
        names = [other.name for other in _recognising(self._others, message)]
        if not names:
            return outcomes
        options = " or ".join(f"--source {name}" for name in names)
        detail = f"a message of {' or '.join(names)}, not of {self.name}: {options} reads it"
        return [Broken(BrokenReason.WRONG_FORMAT, detail)]


def possible_formats(sources: Sequence[Source], message: Message) -> list[Source]:
    """Return the formats that recognise a message, else `html` for the headers of a web server's answer."""
    recognising = _recognising(sources, message)
    if recognising or not is_answer(message):
        return recognising
    return [source for source in sources if source.name == Html.name]


def _recognising(sources: Sequence[Source], message: Message) -> list[Source]:
    return [source for source in sources if source.recognises(message)]


def _is_of_another(outcome: Decoded) -> bool:
    return isinstance(outcome, Broken) and outcome.reason is BrokenReason.WRONG_FORMAT


def _reject_unknown(value: bytes) -> Broken:
    try:
        content = json_in(value) or (parse_json(value) if _JSON_OBJECT.match(value) else None)
    except PageError as error:
        return Broken(error.reason, str(error))
    item = first(content)
    if not isinstance(item, dict):
        detail = f"no crawler format begins with {show_beginning(value)}: {_ADVICE}"
    elif isinstance(content, list):
        fields = quote_names(item)
        detail = f"no crawler format is an array of objects with the fields {fields}: send each as a message"
    else:
        detail = f"no crawler format has the fields {quote_names(item)}: {_ADVICE}"
    return Broken(BrokenReason.UNKNOWN_FORMAT, detail)


def show_beginning(value: bytes) -> str:
    """Show the beginning of a value, and name what it is if that cannot be read."""
    if not is_binary(value):
        return repr(value[:_SHOWN])
    return f"{value[:_BYTES_SHOWN].hex(' ')} ({other_format(value) or 'no text'}, {len(value):,} bytes)"
