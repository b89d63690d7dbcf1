import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.pages.altering import SCRIPTS, transliterated

HTML = (
    "<title>The mill</title><script>let mill = 'a mill'</script><nav><a href='/mill'>Mills</a></nav>"
    "<p class=mill>The mill grinds 3 days &amp; nights.</p><!-- the mill -->"
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_only_the_words_that_are_read_change(name):
    page = transliterated(HTML, SCRIPTS[name])
    for kept in (
        "<script>let mill = 'a mill'</script>",
        "href='/mill'",
        "class=mill",
        "<!-- the mill -->",
        "3",
    ):
        assert kept in page
    assert page.count("&amp;") == 1
    before, after = segment(HTML.encode()), segment(page.encode())
    assert after.paths == before.paths
    assert not any("mill" in text.lower() for text in (*after.texts, after.title))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_word_is_always_the_same(name):
    script = SCRIPTS[name]
    assert transliterated("<p>mill", script) == transliterated("<p>Mill", script)
    assert transliterated("<p>mill", script) != transliterated("<p>wheel", script)


@pytest.mark.parametrize("name", ["Han", "Thai"])
def test_scripts_without_spaces_lose_them(name):
    assert " " not in transliterated("<p>the mill grinds, slowly", SCRIPTS[name])
