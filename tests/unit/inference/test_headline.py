"""The headline at the beginning of texts, Markdown and HTML: once."""

from dataclasses import replace

import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.extraction import extract
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.documents import CleanedDocument, HeadlineTreatment
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import DocumentOptions, Rendering
from dehusk.schemas.pages import ModelVersion, PageIdentity, Prediction, PreparedPage

IDENTITY = PageIdentity("1", "http://x.test/a", "x.test", None, None, 1)
OPTIONS = DocumentOptions(metadata=MetadataLevel.NONE, rendering=Rendering(markdown=True, html=True))


def cleaned(
    html: str, left_out: str = "", headline: HeadlineTreatment = HeadlineTreatment.SEPARATE
) -> CleanedDocument:
    """Clean a page, without the blocks whose text is one of these words."""
    options = replace(OPTIONS, headline=headline)
    page = segment(html.encode(), options=options)
    content = np.array([text not in left_out.split() for text in page.texts], np.float32)
    labels = Prediction(content, ModelVersion("m", "1"), "rules")
    return extract(PreparedPage(IDENTITY, page, encode(page)), labels, options=options)


def test_markdown_and_html_begin_with_it_whether_or_not_it_is_content() -> None:
    without = cleaned("<title>Foxes</title><h1>Foxes</h1><p>They are red.", "Foxes")
    assert without.headline == "Foxes"
    assert without.text == "They are red."
    assert without.markdown == "# Foxes\n\nThey are red."
    assert without.html == "<h1>Foxes</h1>\n<p>They are red.</p>"
    within = cleaned("<title>Foxes</title><h1>Foxes</h1><p>They are red.")
    assert (within.markdown, within.html) == (without.markdown, without.html)
    assert within.text == "Foxes\n\nThey are red."


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h2>Fo<em>x</em>es!</h2><p>Red.", "# Fo*x*es!\n\nRed."),
        ("<p>Foxes</p><p>Red.", "# Foxes\n\nRed."),
        ("<p>Today</p><h1>Foxes</h1><p>Red.", "# Foxes\n\nToday\n\nRed."),
        ("<h2>Food</h2><p>Mice.</p><h2>Foxes</h2><p>Red.", "# Foxes\n\n## Food\n\nMice.\n\n## Foxes\n\nRed."),
        ("<ul><li><h2>Foxes</h2>Red.</ul>", "# Foxes\n\n- ## Foxes\n\n  Red."),
    ],
)
def test_a_first_heading_or_line_that_says_the_same_is_the_headline(html: str, markdown: str) -> None:
    assert cleaned(f"<title>Foxes</title>{html}").markdown == markdown


def test_signs_of_markdown_and_html_are_escaped() -> None:
    document = cleaned("<title>*Foxes* &lt;b> #</title><p>Red.")
    assert document.markdown == "# \\*Foxes\\* \\<b> \\#\n\nRed."
    assert document.html == "<h1>*Foxes* &lt;b&gt; #</h1>\n<p>Red.</p>"


def test_the_text_begins_with_it_if_that_is_asked_for_unless_it_is_content() -> None:
    html = "<title>Foxes</title><h1>Foxes</h1><p>Red."
    assert cleaned(html, "Foxes").text == "Red."
    included = cleaned(html, "Foxes", HeadlineTreatment.INCLUDE)
    assert included.text == "Foxes\n\nRed."
    assert included.text_length == len(included.text)
    assert cleaned(html, "", HeadlineTreatment.INCLUDE).text == "Foxes\n\nRed."
    assert included.content_hash == cleaned(html).content_hash
    late = "<title>Foxes</title><p>Today<h1>Foxes</h1><p>Red."
    assert cleaned(late, "", HeadlineTreatment.INCLUDE).text == "Today\n\nFoxes\n\nRed."
    line = "<title>Foxes</title><p>Foxes<p>Red."
    assert cleaned(line, "", HeadlineTreatment.INCLUDE).text == "Foxes\n\nRed."


def test_a_document_without_content_stays_empty() -> None:
    document = cleaned("<title>Foxes</title><h1>Foxes</h1><p>Red.", "Foxes Red.", HeadlineTreatment.INCLUDE)
    assert (document.headline, document.text, document.markdown, document.html) == ("Foxes", "", "", "")


def test_a_document_without_a_headline_begins_with_its_content() -> None:
    document = cleaned("<p>Red.", "", HeadlineTreatment.INCLUDE)
    assert (document.headline, document.text, document.markdown) == (None, "Red.", "Red.")


def test_references_that_a_title_has_twice_are_read() -> None:
    document = cleaned("<title>Foxes&amp;#8217; guide</title><p>They are red.")
    assert (document.title, document.headline) == ("Foxes’ guide", "Foxes’ guide")


def test_a_heading_without_its_button_is_not_repeated() -> None:
    html = "<title>Foxes</title><h1>Foxes<button>Copy</button></h1><p>They are red."
    assert cleaned(html, "Copy", HeadlineTreatment.INCLUDE).text == "Foxes\n\nThey are red."
