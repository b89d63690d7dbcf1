"""Parts of titles, and texts that are compared with them."""

from dehusk.inference.metadata.titles import counted_parts, readable, same_text, title_keys


def test_parts_are_counted_by_their_words_the_first_and_the_last() -> None:
    assert counted_parts("On Foxes! | on foxes · Wild-life") == ["on foxes", "wild life"]
    assert counted_parts(" | ".join("abcdefg")) == ["a", "b", "f", "g"]
    assert len(title_keys("a | b")) == 2
    assert title_keys("").shape == (0,)
    assert title_keys("On Foxes!").tolist() == title_keys("on foxes").tolist()


def test_texts_are_the_same_by_their_words() -> None:
    assert same_text("On foxes – a Guide", "on FOXES: a guide")
    assert not same_text("On foxes 1", "On foxes 2")


def test_references_that_were_written_twice_are_read() -> None:
    assert readable("Foxes &#8211; and &#x26; &reg; &amp; &ldquo;hens&rdquo;") == "Foxes – and & ® & “hens”"
    unread = "On &nbsp;, &lt;, &#60;br&#x3e; and &copyleft"
    assert readable(unread) == unread
    assert readable("a&#10;&#129;b  c") == "a b c"
