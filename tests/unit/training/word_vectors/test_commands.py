import lzma

import orjson
import pytest
from click.testing import CliRunner

from dehusk.inference.grf.word_vectors import WordVectors
from dehusk.inference.tokens import word_token
from dehusk.training.__main__ import cli

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
