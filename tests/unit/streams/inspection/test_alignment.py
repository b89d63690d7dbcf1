"""Where blocks stand in a text: found by their letters, in order."""

from hypothesis import given
from hypothesis import strategies as st

from dehusk.streams.inspection.alignment import find_letters, letters_of, pieces

TEXTS = st.lists(st.text(alphabet="ab1 .*-\n", max_size=12), max_size=12)


def numbered(*texts: str) -> list[tuple[str, int]]:
    return [(text, number) for number, text in enumerate(texts)]


def test_a_text_is_cut_where_its_blocks_begin() -> None:
    text = "One two.\n\n- “Three” four\n- five"
    assert pieces(text, numbered("One two.", "“Three” four", "five")) == [
        ("One two.\n\n", 0),
        ("- “Three” four\n", 1),
        ("- five", 2),
    ]


def test_marks_of_markdown_belong_to_the_block_behind_them() -> None:
    text = "## Head\n\n1. [A **link**](https://x.test/) goes on\n\n> quoted"
    assert pieces(text, numbered("Head", "A link goes on", "quoted")) == [
        ("## Head\n\n", 0),
        ("1. [A **link**](https://x.test/) goes on\n\n", 1),
        ("> quoted", 2),
    ]


def test_a_block_that_is_not_found_takes_no_other_with_it() -> None:
    assert pieces("one three", numbered("one", "two", "three")) == [("one ", 0), ("three", 2)]


def test_a_block_without_letters_is_part_of_the_one_before() -> None:
    assert pieces("one\n—\ntwo", numbered("one", "—", "two")) == [("one\n—\n", 0), ("two", 2)]


def test_what_stands_before_the_first_block_is_of_none() -> None:
    assert pieces("title one", numbered("one")) == [("title ", -1), ("one", 0)]


def test_a_block_may_look_like_the_number_of_the_next_one() -> None:
    assert pieces("1. 1", numbered("1.", "1")) == [("1. ", 0), ("1", 1)]


def test_short_blocks_are_not_found_far_away() -> None:
    letters = "x" * 10_000 + "ab"
    assert find_letters(letters, "ab", 0) == -1
    assert find_letters(letters, "ab", 9_000) == 10_000
    assert find_letters(letters, "x" * 20 + "ab", 0) == 9_980
    assert find_letters(letters, "", 0) == -1


def test_blocks_begin_where_words_do() -> None:
    assert pieces("Banana an\n\nana", numbered("an", "ana")) == [("Banana ", -1), ("an\n\n", 0), ("ana", 1)]


@given(TEXTS, st.sampled_from([" ", "\n", "\n\n", " ** "]))
def test_pieces_are_the_whole_text(texts: list[str], separator: str) -> None:
    text = separator.join(texts)
    cut = pieces(text, numbered(*texts))
    assert "".join(piece for piece, _ in cut) == text
    numbers = [number for _, number in cut if number >= 0]
    assert numbers == sorted(set(numbers))
    assert numbers == [number for number, block in enumerate(texts) if letters_of(block)]
