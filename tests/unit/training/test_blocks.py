from inference.elements import MAX_PATH
from inference.encoding import encode
from inference.tokens import tag_id, word_id
from training.blocks import has_text, segmented


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


def test_only_white_space_is_no_text():
    assert [has_text(block(text)) for text in ("a", " a\n", "\xa0", "", "\t ")] == [
        True,
        True,
        False,
        False,
        False,
    ]
