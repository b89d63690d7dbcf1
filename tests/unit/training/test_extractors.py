import pytest

from dehusk.training.extractors import resiliparse_text, trafilatura_text

PROSE = "".join(
    f"<p>Mill number {number} grinds slowly, but fine, by day and night.</p>" for number in range(9)
)
REMARK = "I have lived beside the mill for thirty years, and it grinds far too loud at night."
COMMENTS = (
    f"<div id=comments class=comments><ol class=commentlist>{f'<li><p>{REMARK}</p></li>' * 9}</ol></div>"
)
HTML = f"<html><body><article><h1>Mühlen</h1>{PROSE}</article>{COMMENTS}</body></html>"


@pytest.mark.parametrize("extract", [trafilatura_text, resiliparse_text])
def test_they_read_text_and_bytes_alike_with_and_without_comments(extract):
    whole = extract(HTML)
    assert "Mill number 8" in whole
    assert REMARK in whole
    assert extract(HTML.encode()) == whole
    without = extract(HTML, comments=False)
    assert "Mill number 8" in without
    assert REMARK not in without


@pytest.mark.parametrize("extract", [trafilatura_text, resiliparse_text])
def test_a_page_without_text_gives_none(extract):
    assert extract("<html><body></body></html>") == ""
