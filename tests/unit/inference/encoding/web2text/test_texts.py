"""Counts of texts."""

import numpy as np
import pytest

from dehusk.inference.encoding.web2text.texts import Count, count_texts
from dehusk.inference.native.hashing import hash_words


def counted(*texts, linked=None):
    words, counts = hash_words(texts)
    return count_texts(texts, linked or (0,) * len(texts), words, counts.astype(np.int64))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The mill, by night.", {Count.WORDS: 4, Count.WORD_CHARACTERS: 14, Count.PUNCTUATION: 2}),
        ("The mill by Night", {Count.CAPITALS: 2, Count.STOPWORDS: 2, Count.CHARACTERS: 17}),
        ("Äpfel und Öl", {Count.CAPITALS: 2, Count.STOPWORDS: 1}),
        ("One. Two? Three", {Count.SENTENCES: 3}),
        ("One. Two... It costs 3.14!", {Count.SENTENCES: 3, Count.DIGITS: 3}),
        ("no end", {Count.SENTENCES: 1}),
        ("今日は。明日は？", {Count.SENTENCES: 2, Count.PUNCTUATION: 2}),
        ("In 2019", {Count.YEARS: 1, Count.DIGITS: 4}),
        ("20190 or x2019", {Count.YEARS: 0}),
        ("© mills", {Count.COPYRIGHTS: 1}),
        ("a.b@mill.example", {Count.EMAILS: 1}),
        ("at @mill, mill@home", {Count.EMAILS: 0}),
        ("see http://mill.example/", {Count.URLS: 1}),
        ("mill.example://", {Count.URLS: 0}),
        ("🙂", {Count.WORDS: 0, Count.CHARACTERS: 1}),
        ("\udc80 broken", {Count.WORDS: 1}),
    ],
)
def test_a_text_is_counted(text, expected):
    table = counted("before 1999?", text, "after © a@b.example").counts
    assert {column: table[1, column] for column in expected} == expected


def test_ends_are_told():
    texts = counted("One.", "Two?", "Three", "四？")
    assert texts.ends_with_punctuation.tolist() == [True, True, False, True]
    assert texts.ends_with_question_mark.tolist() == [False, True, False, True]


def test_linked_characters_are_taken_over():
    table = counted("a link", "none", linked=(4, 0)).counts
    assert table[:, Count.LINKED].tolist() == [4, 0]
