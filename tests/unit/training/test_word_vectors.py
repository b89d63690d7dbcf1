import lzma

import numpy as np
import orjson
import pytest
from click.testing import CliRunner
from scipy import sparse

from dehusk.inference.encoding.tokens import word_token
from dehusk.inference.labelers.grf.word_vectors import WordVectors
from dehusk.schemas.errors import ConfigurationError
from dehusk.training.__main__ import cli
from dehusk.training.pages.gold import GoldPage
from dehusk.training.word_vectors import (
    cooccurrences,
    each_text_once,
    information,
    vectors,
    vocabulary,
    words_of,
)

pytestmark = pytest.mark.training

SENTENCES = [
    "the mill grinds the corn of {}",
    "the ship leaves the harbour of {}",
    "{} sells corn from the mill",
]


@pytest.fixture
def pages(tmp_path):
    file = tmp_path / "mills.jsonl.xz"
    with lzma.open(file, "wb") as lines:
        for number in range(12):
            html = "".join(f"<p>{sentence.format(chr(97 + number) * 3)}" for sentence in SENTENCES)
            page = {"id": str(number), "url": f"http://{number}.test/", "html": html, "main_content": None}
            lines.write(orjson.dumps(page) + b"\n")
    return file


def test_vectors_of_the_words_on_most_pages_are_written(pages, tmp_path):
    output = tmp_path / "vectors.npz"
    words = ["vectors", "--processes", "1", "--words", "8", "--dimensions", "3", "--output", output, pages]
    ended = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert "8 words of 12 pages" in ended.output
    found = WordVectors.read(output)
    assert found.vectors.shape == (8, 3)
    assert {word_token(word) for word in ("mill", "corn", "the")} < set(found.tokens.tolist())


def page(html, site="mill.test"):
    return words_of(GoldPage(id="1", site=site, page_type="", html=html, text=None))


def counts(pages, *words, window=2):
    """Count how often the first word and each of the others stand together."""
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


TWO_TOPICS = sparse.csr_matrix(
    np.array(
        [
            [0, 9, 9, 1, 0, 0],
            [9, 0, 9, 0, 1, 0],
            [9, 9, 0, 0, 0, 1],
            [1, 0, 0, 0, 9, 9],
            [0, 1, 0, 9, 0, 9],
            [0, 0, 1, 9, 9, 0],
        ],
        np.float64,
    )
)


def test_what_is_met_more_often_than_by_chance_has_information():
    found = information(TWO_TOPICS).toarray()
    assert (found >= 0).all()
    assert found[0, 1] > 0
    assert found[0, 3] == 0


def test_information_is_the_logarithm_of_how_much_more_often():
    found = information(sparse.csr_matrix(np.array([[0, 4.0], [4.0, 0]]))).toarray()
    np.testing.assert_allclose(found, [[0, np.log(2)], [np.log(2), 0]])


def test_words_of_the_same_company_point_the_same_way():
    found = vectors(TWO_TOPICS, 2).astype(np.float64) / 127
    assert found[0] @ found[1] > 0.9
    assert found[0] @ found[4] < 0.1
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=0.02)


def test_a_word_without_neighbours_has_no_direction():
    counts = TWO_TOPICS.tolil()
    counts[5, :] = 0
    counts[:, 5] = 0
    assert vectors(counts.tocsr(), 2)[5].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("html", "dimensions"),
    [(None, 1), ("", 1), ("<p>corn mill wheel", 3), ("<p>corn<p>mill<p>wheel<p>river", 2)],
)
def test_too_few_words_or_neighbours_are_told(tmp_path, html, dimensions):
    file, output = tmp_path / "pages.jsonl", tmp_path / "new.npz"
    file.write_bytes(b"" if html is None else orjson.dumps({"id": "1", "html": html, "main_content": None}))
    words = ["vectors", "--processes", "1", "--dimensions", dimensions, "--output", output, file]
    ended = CliRunner().invoke(cli, [str(word) for word in words])
    assert isinstance(ended.exception, ConfigurationError)
    assert f"no vectors of {dimensions} numbers can be made" in str(ended.exception)
    assert not output.exists()
