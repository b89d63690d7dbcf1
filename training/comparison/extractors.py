"""Extractors that are compared with labelers: from a page to its text, each as its documentation sets it up.

Where one gives HTML, all of its text counts, as resiliparse writes it. jusText asks for the frequent words of
a language, and gets those of all languages that it has, which is also what trafilatura gives it.
"""

from collections.abc import Callable

from resiliparse.extract.html2text import extract_plain_text

from dehusk.schemas.pages import RawPage
from dehusk.training.pages.extractors import resiliparse_text, trafilatura_text

TextOf = Callable[[RawPage], str]


def open_extractor(name: str) -> TextOf:
    """Return the extractor of a name.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    package, _, without = name.partition("-no-")
    match package:
        case "trafilatura":
            return lambda page: trafilatura_text(page.html, comments=not without)
        case "resiliparse":
            return lambda page: resiliparse_text(page.html, comments=not without)
        case "justext":
            return _open_justext()
        case "readability":
            return _open_readability()
        case "magic-html":
            return _open_magic_html()
        case _:
            return _open_rs_trafilatura()


def _open_justext() -> TextOf:
    import justext  # noqa: PLC0415 -- each is loaded where it is asked for

    words = frozenset[str]().union(*map(justext.get_stoplist, justext.get_stoplists()))

    def text(page: RawPage) -> str:
        paragraphs = justext.justext(_markup(page), words)
        return "\n".join(each.text for each in paragraphs if not each.is_boilerplate)

    return text


def _open_readability() -> TextOf:
    from readability import Document  # noqa: PLC0415

    return lambda page: _whole_text(Document(_markup(page), url=page.url).summary(html_partial=True))


def _open_magic_html() -> TextOf:
    from magic_html import GeneralExtractor  # noqa: PLC0415

    extractor = GeneralExtractor()
    return lambda page: _whole_text(extractor.extract(_markup(page), base_url=page.url)["html"])


def _open_rs_trafilatura() -> TextOf:
    from rs_trafilatura import extract  # noqa: PLC0415

    return lambda page: extract(_markup(page), url=page.url).main_content


def _markup(page: RawPage) -> str:
    return page.html.decode("utf-8", "replace")


def _whole_text(html: str) -> str:
    text: str = extract_plain_text(html, main_content=False)
    return text
