import lzma

import orjson
import pytest

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
    broken = prepare([file], tmp_path / "made", 2 / 3, processes=2)
    pages = prepared_pages(tmp_path / "made")
    assert broken == []
    assert [page.id for page in pages] == [line["id"] for line in lines]
    assert all(page.content == (True, False) for page in pages)
    assert sources(tmp_path / "made")[0].startswith("data.jsonl.xz (SHA-256 ")
