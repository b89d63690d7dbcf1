"""The list of stopwords."""

import numpy as np

from dehusk.inference.encoding.tokens import word_id
from dehusk.inference.encoding.web2text.texts import are_stopwords, read_stopwords


def test_each_language_has_some_in_lower_case():
    languages = read_stopwords()
    assert len(languages) > 20
    assert all(len(words) >= 15 for words in languages.values())
    assert all(word == word.lower() for words in languages.values() for word in words)


def test_words_of_any_language_are_known():
    words = np.array([word_id(word) for word in ("the", "und", "и", "的", "mill", "zzz")], np.uint32)
    assert are_stopwords(words).tolist() == [True, True, True, True, False, False]
