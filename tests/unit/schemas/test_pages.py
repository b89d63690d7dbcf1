from dehusk.schemas.pages import Message


def test_a_header_is_found_without_regard_to_case_and_the_last_one_counts() -> None:
    message = Message(None, None, (("URL", b"first"), ("url", b"last"), ("empty", None)))
    assert message.header("Url") == b"last"
    assert message.header("empty") is None
    assert message.header("absent") is None
