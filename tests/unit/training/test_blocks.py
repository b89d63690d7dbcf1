import lzma

import orjson

from inference.elements import MAX_PATH
from inference.encoding import encode
from inference.tokens import tag_id, word_id
from training.blocks import has_text, read_labeled_blocks, segmented


def block(text, label=0, path=("html", "body", "p")):
    return {"path": list(path), "text": text, "label": label}


def test_blocks_are_encoded_by_their_paths_and_words():
    encoded = encode(segmented([block("The mill"), block("!", path=["td"])]))
    tokens = [tag_id("html"), tag_id("body"), tag_id("p"), word_id("the"), word_id("mill"), tag_id("td")]
    assert encoded.ids.tolist() == tokens
    assert encoded.block_lengths.tolist() == [5, 1]


def test_of_a_long_path_the_innermost_tags_count():
    encoded = encode(segmented([block("", path=["div"] * 9000 + ["p"])]))
    assert encoded.ids.tolist() == [tag_id("div")] * (MAX_PATH - 1) + [tag_id("p")]


def test_pages_are_read_with_their_labels_without_blank_blocks(tmp_path):
    page = {"id": "7", "blocks": [block("the mill", 1), block(" \n", 1), block("imprint"), block("turns", 1)]}
    file = tmp_path / "pages.jsonl.xz"
    file.write_bytes(lzma.compress(orjson.dumps(page) + b"\n" + orjson.dumps({"id": "8", "blocks": []})))
    read, empty = read_labeled_blocks([file])
    assert (read.id, read.site, read.validation) == ("7", "7", False)
    assert read.segmented.texts == ("the mill", "imprint", "turns")
    assert read.segmented.paths == ("html/body/p",) * 3
    assert read.content == (True, False, True)
    assert (read.text, read.oracle) == ("the mill\nturns", 1.0)
    assert len(empty.segmented) == len(empty.content) == 0


def test_only_white_space_is_no_text():
    assert [has_text(block(text)) for text in ("a", " a\n", "\xa0", "", "\t ")] == [
        True,
        True,
        False,
        False,
        False,
    ]
