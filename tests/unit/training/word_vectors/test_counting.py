import numpy as np
import pytest

from dehusk.inference.tokens import word_token
from dehusk.training.pages import GoldPage
from dehusk.training.word_vectors.counting import cooccurrences, each_text_once, vocabulary, words_of

pytestmark = pytest.mark.training


def page(html, site="mill.test"):
    return words_of(GoldPage(id="1", site=site, page_type="", html=html, text=None))


def counts(pages, *words, window=2):
    """How often the first word and each of the others stand together."""
    tokens = np.sort(np.array([word_token(word) for word in words], np.uint32))
    found = cooccurrences(pages, tokens, window).toarray()
    places = [int(np.flatnonzero(tokens == word_token(word))[0]) for word in words]
    np.testing.assert_array_equal(found, found.T)
    return [found[places[0], place] for place in places[1:]]


def test_words_are_counted_within_the_window():
    assert counts([page("<p>corn wheel mill river corn")], "corn", "wheel", "mill", "river") == [1, 2, 1]


def test_words_of_two_blocks_do_not_stand_together():
    assert counts([page("<p>corn wheel<p>mill river")], "wheel", "corn", "mill") == [1, 0]


def test_unknown_words_keep_their_place():
    assert counts([page("<p>corn a wheel b c mill")], "corn", "wheel", "mill") == [1, 0]


def test_pages_are_summed():
    assert counts([page("<p>corn wheel")] * 600, "corn", "wheel") == [600]


def test_a_text_counts_once_on_a_site():
    pages = [
        page("<p>corn wheel<p>corn mill"),
        page("<p>corn wheel<p>corn river"),
        page("<p>corn wheel", "b.test"),
    ]
    assert counts(each_text_once(pages), "corn", "wheel", "mill", "river") == [2, 1, 1]


def test_the_words_of_most_pages_are_known():
    pages = [page("<p>corn corn wheel"), page("<p>wheel mill"), page("<p>mill wheel corn"), page("<p>river")]
    known = vocabulary([*pages, page("<p>corn mill")], 3)
    assert set(known.tolist()) == {word_token(word) for word in ("wheel", "corn", "mill")}
    assert (np.diff(known.astype(np.int64)) > 0).all()
