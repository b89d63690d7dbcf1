"""Options of pages and documents: the crawler's format, the limits of a page, the contents of a document."""

from collections.abc import Callable
from pathlib import Path

import click

from dehusk.inference.sites import SiteKey
from dehusk.schemas.documents import Comments
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import Rendering
from dehusk.streams.cli.shared.options import (
    Option,
    Url,
    choice_option,
    number_option,
    seconds_option,
    was_typed,
    with_options,
)
from dehusk.streams.settings import MIB, PageLimits
from dehusk.streams.sources.json_fields import DEFAULT_FIELDS, NAMES, FieldPaths
from dehusk.streams.sources.registry import SOURCES, SourceSettings
from dehusk.streams.sources.warc import NO_DIRECTORY, WarcPointer

_WITH_FIELDS = {"json", "auto"}
"""The values of --source that read objects whose fields can be named."""
_KEEP_OR_DROP = ("keep", "drop")


def max_page_option(otherwise: str) -> Option:
    """Return `--max-page-mib`, whose help says what happens to larger pages."""
    return number_option(
        "--max-page-mib",
        default=PageLimits().max_bytes // MIB,
        help=f"Largest page, after decompression; a larger one {otherwise}.",
    )


def page_limit_options(otherwise: str, *, with_size: bool = False) -> Option:
    """Return the options of the limits of a page, which reach the command as `limits`.

    `otherwise` is a part of the help: what happens to pages beyond them. Without `with_size`, the largest
    size is the default, as other options give it.
    """

    def gather(
        *,
        page_seconds: float,
        max_page_blocks: int,
        max_page_mib: int = PageLimits().max_bytes // MIB,
        **others: object,
    ) -> dict[str, object]:
        return {**others, "limits": PageLimits(max_page_mib * MIB, page_seconds, max_page_blocks)}

    return with_options(
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
        gather=gather,
    )


def processes_option(default: Callable[[], int], *, shown: str, help: str) -> Option:  # noqa: A002 click's
    """Return `--processes`, the number of processes that segment pages."""
    return number_option("--processes", default=default, shown=shown, help=help)


def _gather_source(
    *,
    source: str,
    field: tuple[str, ...],
    warc_directory: Path | None,
    schema_registry: str | None,
    framed: bool,
    max_page_mib: int,
    **others: object,
) -> dict[str, object]:
    if field and source not in _WITH_FIELDS:
        raise click.UsageError("--field is for --source json")
    settings = SourceSettings(max_page_mib * MIB, _paths(field), warc_directory, schema_registry, framed)
    return {"source": source, "source_settings": settings, **others}


def _paths(fields: tuple[str, ...]) -> FieldPaths:
    paths = dict(DEFAULT_FIELDS)
    for field in fields:
        name, _, path = field.partition("=")
        if name not in NAMES or not path:
            raise click.UsageError(f"--field {field!r} is not NAME=PATH with a name of: {', '.join(NAMES)}")
        paths[name] = path
    return tuple(paths.items())


source_options = with_options(
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
        help="With --source json: where a message holds what, e.g. --field url=page.link --field html=body. "
        f"Names: {', '.join(NAMES)}; each stands at the top under its own name by default.",
    ),
    click.option(
        "--warc-directory",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="With --source warc-pointer: where the crawler writes its WARC files.",
    ),
    click.option(
        "--schema-registry",
        type=Url("http", "https"),
        metavar="URL",
        help="The registry of the schemas of Avro messages, e.g. http://localhost:8081.",
    ),
    click.option(
        "--framed",
        is_flag=True,
        help="Every value is framed by a schema registry. Only needed with --source html, where frames are "
        "not recognised, as pages can begin with the same bytes.",
    ),
    max_page_option("is a dead letter"),
    gather=_gather_source,
)
"""Options of a crawler format, which reach a command as `source` and `source_settings`."""


def require_warc_directory(crawler: str, settings: SourceSettings) -> None:
    """Check that the WARC files that messages point to have a directory.

    Raises:
        click.UsageError: they have none.
    """
    if crawler == WarcPointer.name and settings.warc_directory is None:
        raise click.UsageError(NO_DIRECTORY)


base_url_option = click.option(
    "--base-url",
    type=Url("http", "https", "file"),
    metavar="URL",
    help="HTML files get URLs below this one, as they lie below PATH; by default file:///… of their path.",
)
site_key_option = choice_option(
    "--site-key",
    values=[key.value for key in SiteKey],
    default=SiteKey.HOST.value,
    help="Which pages are of one site: those of a host (blog.example.org); of all hosts of a domain that "
    "can be registered (.example.org); or of a folder at the top of a host (example.org/blog).",
)
hidden_text_option = choice_option(
    "--hidden-text",
    values=["model", "drop"],
    default="model",
    help="What becomes of text that the page hides, by `hidden`, an inline style, a closed dialog or "
    "popover: `model` leaves it to the model, for panels and answers hide so; `drop` keeps it out of the "
    "document's text.",
)
comments_option = choice_option(
    "--comments",
    values=[each.value for each in Comments],
    default=Comments.SEPARATE.value,
    help="What becomes of user comments: `separate` puts them into the field `comments`, `include` into "
    "the text, `drop` leaves them out. Posts of a forum are content; so are comments that stand alone.",
)
metadata_option = choice_option(
    "--metadata",
    values=[each.value for each in MetadataLevel],
    default=MetadataLevel.FAST.value,
    help="What documents say of their pages, such as author and date: `fast` reads what pages declare to "
    "machines, `full` bylines and dates in the text, too, where they declare none, `none` nothing.",
)


def comments_are_told_apart(comments: str) -> bool:
    """Return True if the command line sets an option of user comments that needs them apart from the text."""
    return was_typed("comments") and comments != Comments.INCLUDE


def _gather_rendering(
    *, with_markdown: bool, links: str, images: str, tables: str, **others: object
) -> dict[str, object]:
    kept = {"links": links == "keep", "images": images == "keep", "tables": tables == "keep"}
    return {"rendering": Rendering(with_markdown, **kept), **others}


rendering_options = with_options(
    click.option(
        "--with-markdown",
        is_flag=True,
        help="Add the field `markdown`: the content with its headings, emphasis, links, images, lists, "
        "quotations, code, tables and formulas.",
    ),
    *(
        choice_option(
            f"--{name}",
            values=_KEEP_OR_DROP,
            default="keep",
            help=f"What becomes of {name} in Markdown and HTML{dropped}. The text is the same in any case.",
        )
        for name, dropped in (
            ("links", "; what is linked is kept"),
            ("images", ""),
            ("tables", ", their texts included; tables that lay out a page are none"),
        )
    ),
    gather=_gather_rendering,
)
"""Options of Markdown and HTML, which reach a command as `rendering: Rendering`."""
