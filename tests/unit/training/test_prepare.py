import lzma

import orjson
import pytest

from training.config import DEFAULT_CONFIG, read_config
from training.pages import held_out_pages, training_pages
from training.prepare import prepare, prepared_pages, sources


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
    broken = prepare([file], tmp_path / "made", read_config(DEFAULT_CONFIG).data, processes=2)
    pages = prepared_pages(tmp_path / "made")
    assert broken == []
    assert [page.id for page in pages] == [line["id"] for line in lines]
    assert all(page.content == (True, False) for page in pages)
    assert sources(tmp_path / "made")[0].startswith("data.jsonl.xz (SHA-256 ")


def test_labeled_blocks_are_taken_as_they_are_and_validation_files_held_out(tmp_path):
    def write(name):
        page = {"id": name, "blocks": [{"path": ["html", "p"], "text": "the mill", "label": 1}]}
        file = tmp_path / f"{name}.jsonl.xz"
        file.write_bytes(lzma.compress(orjson.dumps(page)))
        return file

    assert prepare([write("a"), write("b")], tmp_path / "made", None, 1, [write("c")]) == []
    pages = prepared_pages(tmp_path / "made")
    assert [page.id for page in training_pages(pages, None)] == ["a", "b"]
    assert [page.id for page in held_out_pages(pages, None)] == ["c"]
    assert [each.partition(".")[0] for each in sources(tmp_path / "made")] == ["a", "b", "c"]
