from dehusk.inference.elements import MAX_PATH
from dehusk.inference.encoding import encode
from dehusk.inference.tokens import tag_token, word_token
from dehusk.training.blocks import has_text, segmented


def block(text, label=0, path=("html", "body", "p")):
    return {"path": list(path), "text": text, "label": label}


def test_blocks_are_encoded_by_their_paths_words_and_punctuation():
    encoded = encode(segmented([block("The mill"), block("!", path=["td"])]))
    tags = [tag_token(tag) for tag in ("html", "body", "p", "td")]
    words = [word_token(word) for word in ("the", "mill", "!")]
    assert encoded.ids.tolist() == [*tags[:3], *words[:2], tags[3], words[2]]
    assert encoded.block_lengths.tolist() == [5, 2]


def test_of_a_long_path_the_innermost_tags_count():
    encoded = encode(segmented([block("", path=["div"] * 9000 + ["p"])]))
    assert encoded.ids.tolist() == [tag_token("div")] * (MAX_PATH - 1) + [tag_token("p")]


def test_only_white_space_is_no_text():
    assert [has_text(block(text)) for text in ("a", " a\n", "\xa0", "", "\t ")] == [
        True,
        True,
        False,
        False,
        False,
    ]
