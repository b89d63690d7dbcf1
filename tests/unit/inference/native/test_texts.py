from math import log1p

import numpy as np
import pytest

from dehusk.inference.native.texts import link_densities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, world.", {"log_words": log1p(2), "log_characters": log1p(13), "words_below_3": 1}),
        ("a " * 15, {"words_from_15": 1, "words_below_3": 0, "starts_lower": 1, "starts_upper": 0}),
        (
            "Hello, world.",
            {"punctuation_share": 2 / 13, "upper_share": 1 / 13, "tenths_of_characters_per_word": 0.65},
        ),
        ("one, two; three、四", {"log_commas": log1p(3)}),
        ("Is it? Yes. 好。", {"log_sentence_ends": log1p(3), "ends_sentence": 1}),
        ("Really", {"ends_sentence": 0, "ends_with_colon": 0}),
        ("Contents：", {"ends_with_colon": 1}),
        ("ÜBER 5", {"all_upper": 1, "starts_upper": 1, "digit_share": 1 / 6}),
        ("123", {"all_upper": 0, "digit_share": 1}),
        ("Über uns", {"all_upper": 0, "starts_upper": 1}),
        ("only € 5", {"has_price": 1}),
        ("only €", {"has_price": 0}),
        ("me@example.org", {"has_at_sign": 1, "has_separator": 0}),
        ("Home › News", {"has_separator": 1}),
        ("since 1999", {"has_year": 1}),
        ("on 20 May 2026", {"has_year": 1}),
        ("number 12345", {"has_year": 0}),
        ("3456, then 1999", {"has_year": 0}),
        ("1 9 9 9", {"has_year": 0}),
        ("<a href=x>all</a>", {"link_density": 1, "has_link": 1}),
        ("<a href=x>one</a> two", {"link_density": 3 / 7}),
        ("none", {"link_density": 0, "has_link": 0}),
        ("one <b>two</b> three", {"log_leaves": log1p(3)}),
        ("alone", {"repeated": 0, "log_repeats": 0}),
        ("same<p>same<p>same<p>x", {"repeated": 1, "log_repeats": log1p(2)}),
    ],
)
def test_characters_say_something_of_a_block(block_columns, text: str, expected: dict[str, float]) -> None:
    columns = block_columns(f"<p>{text}")
    assert {name: columns[name][0] for name in expected} == pytest.approx(expected, abs=0.03)


def test_link_densities_are_shares_of_characters() -> None:
    density, linked = link_densities(("four words of text", "…"), (9, 1), np.array([4, 0], np.uint32))
    assert density.tolist() == [0.5, 1]
    assert linked.tolist() == [2, 0]


def test_prices_and_questions_of_a_page_are_counted(page_columns) -> None:
    long = "word " * 12
    columns = page_columns(f"<p>$5<p>$ 6 only<p>{long} $5<p>Why?<p>なぜ？<p>x<p>y<p>z")
    assert columns["log_prices"] == pytest.approx(log1p(2), abs=0.03)
    assert columns["question_share"] == pytest.approx(2 / 8, abs=0.01)
