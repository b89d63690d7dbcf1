import lzma

import orjson
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.boilernet.config import DEFAULT_CONFIG, read_config
from dehusk.training.boilernet.pages import held_out_pages, training_pages
from dehusk.training.boilernet.prepare import prepare_pages, prepared_pages
from dehusk.training.sources import sources


@pytest.mark.timeout(60)
def test_data_files_become_labeled_pages_in_order_with_their_sources(tmp_path):
    lines = [
        {
            "id": str(number),
            "url": f"https://site{number}.example/",
            "page_type": "article",
            "html": f"<p>the mill number {number} turns again</p><p>imprint</p>",
            "main_content": f"the mill number {number} turns again",
        }
        for number in range(9)
    ]
    file = tmp_path / "data.jsonl.xz"
    file.write_bytes(lzma.compress(b"\n".join(map(orjson.dumps, lines))))
    broken = prepare_pages([file], tmp_path / "made", read_config(DEFAULT_CONFIG).data, processes=2)
    pages = prepared_pages(tmp_path / "made")
    assert broken == []
    assert [page.id for page in pages] == [line["id"] for line in lines]
    assert all(page.content == (True, False) for page in pages)
    assert sources(tmp_path / "made")[0].startswith("data.jsonl.xz (SHA-256 ")


LINES = {
    "gold": b'{"id": "1", "url": "", "page_type": "", "html": "<p>a", "main_content": "a"}',
    "blocks": b'{"id": "1", "blocks": []}',
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda line: lzma.compress(line)[:-9], "cannot be read to its end"),
        (lambda line: lzma.compress(line + b"\nx"), "line 2 of .* is no page"),
        (lambda line: lzma.compress(line + b"\n[]"), "line 2 of .* is no page"),
        (lambda _: lzma.compress(b'{"id": "1"}'), "line 1 of .* has no field"),
    ],
)
def test_data_that_cannot_be_read_leave_what_was_prepared_before(tmp_path, kind, spoil, told):
    config = read_config(DEFAULT_CONFIG).data if kind == "gold" else None
    good, bad = tmp_path / "good.jsonl.xz", tmp_path / "bad.jsonl.xz"
    good.write_bytes(lzma.compress(LINES[kind]))
    bad.write_bytes(spoil(LINES[kind]))
    prepare_pages([good], tmp_path / "made", config, processes=1)
    with pytest.raises(ConfigurationError, match=told):
        prepare_pages([bad], tmp_path / "made", config, processes=1)
    assert [page.id for page in prepared_pages(tmp_path / "made")] == ["1"]


def test_labeled_blocks_are_taken_as_they_are_and_validation_files_held_out(tmp_path):
    def write(name):
        page = {"id": name, "blocks": [{"path": ["html", "p"], "text": "the mill", "label": 1}]}
        file = tmp_path / f"{name}.jsonl.xz"
        file.write_bytes(lzma.compress(orjson.dumps(page)))
        return file

    assert prepare_pages([write("a"), write("b")], tmp_path / "made", None, 1, [write("c")]) == []
    pages = prepared_pages(tmp_path / "made")
    assert [page.id for page in training_pages(pages, None)] == ["a", "b"]
    assert [page.id for page in held_out_pages(pages, None)] == ["c"]
    assert [each.partition(".")[0] for each in sources(tmp_path / "made")] == ["a", "b", "c"]
