from pathlib import Path

import numpy as np

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.encoding.tokens import word_token
from dehusk.inference.labelers.grf.word_vectors import VECTORS, WordVectors, word_vectors
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import Encoding

TOKENS = {word: word_token(word) for word in ("harbour", "ship", "storm")}
KNOWN = sorted(TOKENS, key=TOKENS.__getitem__)
OF_WORD = {"harbour": [127, 0], "ship": [0, 127], "storm": [0, -127]}
SMALL = WordVectors(
    np.array([TOKENS[word] for word in KNOWN], np.uint32),
    np.array([OF_WORD[word] for word in KNOWN], np.int8),
)


def means(html: str) -> list[list[float]]:
    return SMALL.means(encode(segment(html.encode()), (Encoding.TOKENS,))).tolist()


def test_a_block_is_the_mean_of_its_known_words() -> None:
    assert means("<p>Harbour and ship<p>the ship") == [[0.5, 0.5], [0, 1]]


def test_a_word_counts_as_often_as_it_stands_there() -> None:
    assert means("<p>ship ship ship storm") == [[0, 0.5]]


def test_a_block_without_known_words_is_nothing() -> None:
    assert means("<p>ship<p>p html body<p>storm") == [[0, 1], [0, 0], [0, -1]]


def test_a_page_without_blocks_has_no_means() -> None:
    assert means("") == []


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "vectors.npz"
    with file.open("wb") as target:
        SMALL.write(target)
    again = WordVectors.read(file)
    np.testing.assert_array_equal(again.tokens, SMALL.tokens)
    np.testing.assert_array_equal(again.vectors, SMALL.vectors)


def test_the_vectors_that_come_with_dehusk_are_of_length_1_and_in_order() -> None:
    lengths = np.linalg.norm(word_vectors().vectors.astype(np.float64) / 127, axis=1)
    np.testing.assert_allclose(lengths, 1, atol=0.05)
    assert (np.diff(word_vectors().tokens.astype(np.int64)) > 0).all()
    assert VECTORS.stat().st_size < 2 << 20
