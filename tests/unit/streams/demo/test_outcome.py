"""What is counted of a cleaned document."""

from dehusk.streams.demo.outcome import Block, Cleaned


def document(url: str, *blocks: tuple[str, bool]) -> dict:
    listed = [{"text": text, "content": content} for text, content in blocks]
    return {"url": url, "text": "\n".join(text for text, content in blocks if content), "blocks": listed}


def test_text_is_counted_and_documents_that_have_none() -> None:
    cleaned = Cleaned()
    cleaned.add(document("a", ("menu", False), ("a sentence", True)))
    cleaned.add(document("b", ("footer", False)))
    assert (cleaned.visible, cleaned.kept) == (20, 10)
    assert cleaned.empty == 1


def test_the_example_is_the_page_nearest_to_a_readable_length() -> None:
    cleaned = Cleaned()
    for url, length in (("short", 10), ("right", 2900), ("long", 90_000)):
        cleaned.add(document(url, ("x" * length, True)))
    assert cleaned.example_url == "right"
    assert cleaned.example == [Block("x" * 2900, content=True)]


def test_a_page_without_text_is_no_better_example_than_one_with() -> None:
    cleaned = Cleaned()
    cleaned.add(document("with", ("text", True)))
    cleaned.add(document("without"))
    assert cleaned.example_url == "with"
