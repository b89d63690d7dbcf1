"""Options of pages and documents: the crawler's format, the limits of a page, the contents of a document."""

from collections.abc import Sequence
from typing import TypeVar

import click

from dehusk.inference.sites import SiteKey
from dehusk.schemas.documents import Comments, HeadlineTreatment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import DocumentOptions, Duplicates, Favor, Rendering
from dehusk.streams.cli.shared.options import (
    Option,
    PathOrUrl,
    Url,
    choice_option,
    enum_option,
    gathered_options,
    number_option,
    refuse_typed,
    seconds_option,
    was_typed,
)
from dehusk.streams.files.page_lines import LINE_FIELDS, LineFields
from dehusk.streams.settings import MIB, PageLimits
from dehusk.streams.sources.json_fields import DEFAULT_PATHS, NAMES
from dehusk.streams.sources.reference import Reference
from dehusk.streams.sources.registry import SOURCES, SourceSettings, lacking_folder
from dehusk.streams.stores.stored import InputPath

_Name = TypeVar("_Name", bound=str)
_WITH_FIELDS = {"json", "reference", "auto"}
"""The values of --source that read objects whose fields can be named."""


def max_page_option(otherwise: str) -> Option:
    """Return `--max-page-mib`, whose help says what happens to larger pages."""
    return number_option(
        "--max-page-mib",
        default=PageLimits().max_bytes // MIB,
        help=f"Largest page, after decompression; a larger one {otherwise}.",
    )


def page_limit_options(otherwise: str, *, with_size: bool = False) -> Option:
    """Return the options of the limits of a page, which reach the command as `page: PageLimits`.

    `otherwise` is a part of the help: what happens to pages beyond them. Without `with_size`, the largest
    size is that of `source_options`.
    """
    return gathered_options(
        "page",
        _page_limits,
        seconds_option(
            "--page-seconds",
            least=0.1,
            default=PageLimits().seconds,
            help=f"CPU time that each step of one page may take; a slower one {otherwise}. "
            "The limit of wall time is six times that.",
        ),
        number_option(
            "--max-page-blocks",
            default=PageLimits().max_blocks,
            help="Most text blocks of a page; one with more of them, or ten times as many tags, "
            f"{otherwise}.",
        ),
        *([max_page_option(otherwise)] if with_size else []),
    )


def _page_limits(*, max_page_mib: int, page_seconds: float, max_page_blocks: int) -> PageLimits:
    return PageLimits(max_page_mib * MIB, page_seconds, max_page_blocks)


def _source_settings(
    *,
    source: str,
    field: tuple[str, ...],
    warc_directory: InputPath | None,
    reference_root: tuple[InputPath, ...],
    schema_registry: str | None,
    framed: bool,
    max_page_mib: int,
) -> SourceSettings:
    if field and source not in _WITH_FIELDS:
        raise click.UsageError("--field is for --source json, reference or auto")
    if reference_root and source not in ("auto", Reference.name):
        raise click.UsageError("--reference-root is for --source reference or auto")
    return SourceSettings(
        max_page_mib * MIB,
        tuple((dict(DEFAULT_PATHS) | _paths(field, NAMES)).items()),
        warc_directory,
        reference_root,
        schema_registry,
        framed,
    )


def _paths(given: tuple[str, ...], names: Sequence[_Name]) -> dict[_Name, str]:
    """Return paths by the names of what they lead to.

    Raises:
        click.UsageError: one is no NAME=PATH with one of these names.
    """
    known = {each: each for each in names}
    paths = {}
    for field in given:
        name, _, path = field.partition("=")
        if name not in known or not path:
            raise click.UsageError(f"--field {field!r} is not NAME=PATH with a name of: {', '.join(names)}")
        paths[known[name]] = path
    return paths


line_fields_option = click.option(
    "--line-field",  # its name for variables and files, where `field` is that of messages
    "--field",
    "line_fields",
    metavar="NAME=PATH",
    multiple=True,
    callback=lambda _context, _option, given: LineFields(**_paths(given, LINE_FIELDS)),
    help="Path in JSON lines, or in rows of Parquet, to what a page needs, e.g. --field url=link "
    "--field html=page.body. Names: "
    f"{', '.join(LINE_FIELDS)}; each stands at the top under its own name by default.",
)


def warc_directory_option(help: str) -> Option:  # noqa: A002 click's
    """Return the option of the folder of the WARC files that messages or rows of an index point to."""
    return click.option(
        "--warc-directory", type=PathOrUrl(exists=True, file_okay=False), metavar="DIR|URL", help=help
    )


registry_option = click.option(
    "--schema-registry",
    type=Url("http", "https"),
    metavar="URL",
    help="The registry of the schemas of Avro messages, and of documents in a --value-format, e.g. "
    "http://localhost:8081.",
)
source_options = gathered_options(
    "source_settings",
    _source_settings,
    choice_option(
        "--source",
        values=SOURCES,
        default="auto",
        help="The crawler format of the messages; `auto` recognises it for each message.",
    ),
    click.option(
        "--field",
        metavar="NAME=PATH",
        multiple=True,
        help="Path in objects of JSON (--source json, reference or auto) to what a page needs, e.g. --field "
        f"url=page.link --field html=body. Names: {', '.join(NAMES)}; each stands at the top under its "
        "own name by default.",
    ),
    warc_directory_option(
        "Folder of the WARC files that messages name (--source warc-pointer or auto), also in a store, e.g. "
        "s3://commoncrawl/."
    ),
    click.option(
        "--reference-root",
        type=PathOrUrl(exists=True, file_okay=False),
        metavar="DIR|URL",
        multiple=True,
        help="Folder, also in a store, e.g. s3://pages/, below which messages may name pages (--source "
        "reference or auto). Nothing else is read. A name that is no URL is looked up below the first one.",
    ),
    registry_option,
    click.option(
        "--framed",
        is_flag=True,
        help="Every value is framed by a schema registry. Only needed with --source html, and for messages "
        "with a content type and a URL, whose frames are not recognised, as pages can begin with the same "
        "bytes.",
    ),
    max_page_option("is a dead letter"),
)
"""Options of a crawler format, which reach a command as `source` and `source_settings`."""


def require_folders(crawler: str, settings: SourceSettings) -> None:
    """Check that what messages point to has a folder.

    Raises:
        click.UsageError: it has none.
    """
    if lack := lacking_folder(crawler, settings):
        raise click.UsageError(lack)


base_url_option = click.option(
    "--base-url",
    callback=lambda _context, _option, url: url or "",
    type=Url("http", "https", "file"),
    metavar="URL",
    help="HTML files get URLs below this one, as they lie below PATH; by default file:///… of their path. "
    "A page on standard input has this one.",
)
site_key_option = enum_option(
    "--site-key",
    default=SiteKey.HOST,
    help="Granularity of sites: the pages of a host (blog.example.org); of all hosts of a domain that "
    "can be registered (.example.org); or of a folder at the top of a host (example.org/blog).",
)
hidden_text_option = click.option(
    "--hidden-text",
    "drop_hidden",
    type=click.Choice(["model", "drop"]),
    default="model",
    show_default=True,
    callback=lambda _context, _option, treatment: treatment == "drop",
    help="Treatment of text that the page hides, by `hidden`, an inline style, a closed dialog or "
    "popover: `model` leaves it to the model, for panels and answers hide so; `drop` keeps it out of the "
    "document's text.",
)
comments_option = enum_option(
    "--comments",
    default=Comments.SEPARATE,
    help="Treatment of user comments: `separate` puts them into the field `comments`, `include` into "
    "the text, `drop` leaves them out. Posts of a forum are content; so are comments that stand alone.",
)
favor_option = enum_option(
    "--favor",
    default=Favor.BALANCE,
    help="Bias where the labeler is unsure: `precision` leaves more out, `recall` keeps more.",
)


def _check_selector(_context: click.Context, _option: click.Parameter, selector: str) -> str:
    from dehusk.inference.segmentation.parser import check_selector

    try:
        if selector:
            check_selector(selector)
    except ConfigurationError as error:
        raise click.BadParameter(str(error)) from error
    return selector


exclude_option = click.option(
    "--exclude",
    metavar="SELECTOR",
    default="",
    callback=_check_selector,
    help="CSS selector of elements that are taken for absent, e.g. '.ads, nav': neither text nor metadata "
    "come from them.",
)
_headline_option = enum_option(
    "--headline",
    default=HeadlineTreatment.SEPARATE,
    help="Treatment of the page's headline, which is in the field `headline`, and which Markdown and HTML "
    "begin with: `include` lets the text begin with it, too; `separate` leaves the text to the content.",
)
_metadata_option = enum_option(
    "--metadata",
    default=MetadataLevel.FULL,
    help="Metadata of documents, such as author and date: `fast` reads what pages declare to "
    "machines, `full` bylines and dates in the text, too, where they declare none, `none` nothing.",
)
_duplicates_option = enum_option(
    "--duplicates",
    default=Duplicates.SIMHASH,
    help="Key by which near-duplicates are found, beside `content_hash`: `simhash` in 16 digits, `minhash` "
    "in 684 characters, which finds texts with more changes, or `none`.",
)


def _are_comments_told_apart(*, comments: Comments) -> bool:
    """Return True if the command line sets an option of user comments that needs them apart from the text."""
    return was_typed("comments") and comments is not Comments.INCLUDE


_links_option = click.option(
    "--with-links",
    is_flag=True,
    help="Add the field `links`: the address, the text and the block of each link of the text.",
)
_rendering_options = gathered_options(
    "rendering",
    Rendering,
    click.option(
        "--with-markdown",
        "markdown",
        is_flag=True,
        help="Add the field `markdown`: the content with its headings, emphasis, links, images, lists, "
        "quotations, code, tables and formulas.",
    ),
    click.option(
        "--with-html",
        "html",
        is_flag=True,
        help="Add the field `html`: the same content as HTML of a few elements, without classes or scripts.",
    ),
    *(
        click.option(
            f"--{name}",
            type=click.Choice(["keep", "drop"]),
            default="keep",
            show_default=True,
            callback=lambda _context, _option, treatment: treatment == "keep",
            help=f"Treatment of {name} in Markdown and HTML{dropped}. The text is the same in any case.",
        )
        for name, dropped in (
            ("links", "; what is linked is kept"),
            ("images", ""),
            ("tables", ", their texts included; tables that lay out a page are none"),
        )
    ),
)


_WHOLE, _RENDERED = ("json", "document"), ("markdown", "html")
"""Forms that have all fields of a document, and those of a rendering alone."""


def require_place(form: str, options: DocumentOptions) -> None:
    """Check that documents of a form have a place for what the command line wants in them.

    Raises:
        click.UsageError: they have none.
    """
    if form not in _WHOLE:
        blocks = ("with_blocks",) if options.with_blocks else ()
        refuse_typed(f"documents with all fields, not {form}", *blocks, "with_links", "markdown", "html")
    if form not in _RENDERED and not options.rendering.needs_markup:
        refuse_typed(f"Markdown and HTML, not {form} without them", "links", "images", "tables")


def document_options(*others: Option) -> Option:
    """Return the options of documents, others among them.

    They reach a command as `options: DocumentOptions` and `comments_are_told_apart`.
    """
    return gathered_options(
        "options",
        DocumentOptions,
        gathered_options("comments_are_told_apart", _are_comments_told_apart, comments_option),
        hidden_text_option,
        favor_option,
        exclude_option,
        _headline_option,
        _metadata_option,
        _duplicates_option,
        *others,
        _links_option,
        _rendering_options,
    )
