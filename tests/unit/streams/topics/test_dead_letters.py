from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.documents import Origin
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.sources.source import Record
from dehusk.streams.topics.dead_letters import (
    MAX_BARE_BYTES,
    PREFIX,
    dead_letter,
    read_dead_letter,
    read_replay_mark,
    replay,
    replay_mark,
)

MESSAGE = Message(b"key", b"value", (("a", b"1"), ("none", None)), "raw", 3, 17)
BROKEN = Broken(BrokenReason.MEMORY_BUDGET_EXCEEDED, "it nests", "https://example.org/")


def as_message(record: Record, topic: str = "dead", offset: int = 0) -> Message:
    return Message(record.key, record.value, record.headers, topic, 0, offset)


def test_a_letter_keeps_the_message_and_tells_of_its_end_as_kafka_connect_does():
    letter = dead_letter(MESSAGE, BROKEN, "prepare")
    assert (letter.key, letter.value) == (b"key", b"value")
    assert letter.headers == (
        ("a", b"1"),
        ("none", None),
        ("__connect.errors.topic", b"raw"),
        ("__connect.errors.partition", b"3"),
        ("__connect.errors.offset", b"17"),
        ("__connect.errors.connector.name", b"dehusk"),
        ("__connect.errors.stage", b"prepare"),
        ("__connect.errors.exception.class.name", b"memory-budget-exceeded"),
        ("__connect.errors.exception.message", b"it nests"),
        ("dehusk.reason", b"memory-budget-exceeded"),
        ("dehusk.url", b"https://example.org/"),
        ("dehusk.value-bytes", b"5"),
    )
    assert all(name.startswith(PREFIX) for name, _ in letter.headers[2:])


def test_the_same_failure_gives_the_same_bytes():
    assert dead_letter(MESSAGE, BROKEN, "prepare") == dead_letter(MESSAGE, BROKEN, "prepare")


def test_is_read_back():
    letter = read_dead_letter(as_message(dead_letter(MESSAGE, BROKEN, "prepare")))
    assert letter.original == Record(MESSAGE.key, MESSAGE.value, MESSAGE.headers)
    assert letter.origin == letter.first_origin == Origin("raw", 3, 17)
    assert (letter.stage, letter.reason, letter.detail) == ("prepare", "memory-budget-exceeded", "it nests")
    assert (letter.url, letter.replays, letter.is_whole) == ("https://example.org/", 0, True)


def test_a_letter_of_a_page_whose_url_was_not_known_has_that_of_the_message():
    crashed = Broken(BrokenReason.PROCESS_CRASHED, "SIGSEGV")
    message = replace(MESSAGE, value=b'{"url": "https://example.org/b", "html": "<p>"}')
    letter = read_dead_letter(as_message(dead_letter(message, crashed, "prepare")))
    assert letter.url == "https://example.org/b"
    assert read_dead_letter(as_message(dead_letter(MESSAGE, crashed, "prepare"))).url is None


def test_a_replay_is_the_original_and_counts_itself():
    letter = read_dead_letter(as_message(dead_letter(MESSAGE, BROKEN, "prepare")))
    again = replay(letter)
    assert (again.key, again.value, again.headers[:2]) == (MESSAGE.key, MESSAGE.value, MESSAGE.headers)
    assert again.headers[2:] == (("dehusk.replays", b"1"), ("dehusk.replay-of", b"raw/3/17"))


def test_what_fails_again_remembers_where_it_failed_first():
    message = MESSAGE
    for replays in range(4):
        letter = read_dead_letter(as_message(dead_letter(message, BROKEN, "prepare")))
        assert letter.replays == replays
        assert letter.first_origin == Origin("raw", 3, 17)
        assert letter.original.headers == MESSAGE.headers
        message = replace(as_message(replay(letter), "raw", 100 + replays), partition=3)


@pytest.mark.parametrize(
    "header",
    [
        ("dehusk.replays", b"abc"),
        ("dehusk.replays", b"9" * 5000),
        ("dehusk.replay-of", b"x"),
        ("dehusk.replay-of", b"raw/x/1"),
        ("dehusk.replay-of", b"raw/0/1/2"),
        ("dehusk.replays", b"1"),
    ],
)
def test_headers_that_a_crawler_writes_make_no_replay(header):
    written = dead_letter(MESSAGE, BROKEN, "prepare")
    letter = read_dead_letter(Message(written.key, written.value, (header, *written.headers)))
    assert (letter.replays, letter.first_origin) == (0, letter.origin)


def test_a_mark_names_the_letter_that_was_put_back_and_is_none_itself():
    mark = as_message(replay_mark(Origin("dead", 3, 17)))
    assert read_replay_mark(mark) == Origin("dead", 3, 17)
    assert read_dead_letter(mark) is None
    assert (mark.key, mark.value) == (b"dead/3/17", b"")


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("dehusk.replayed", b"nonsense"),),
        (("dehusk.replayed", b"dead/0/9" + b"9" * 20),),
        (("dehusk.replayed", None),),
    ],
)
def test_other_records_are_no_marks(headers):
    assert read_replay_mark(Message(b"k", b"", headers)) is None
    assert read_replay_mark(as_message(dead_letter(MESSAGE, BROKEN, "prepare"))) is None


@pytest.mark.parametrize(("value", "whole"), [(b"value", True), (None, False), (b"", False)])
def test_knows_that_its_value_was_left_out(value, whole):
    letter = as_message(dead_letter(MESSAGE, BROKEN, "deliver"))
    assert read_dead_letter(replace(letter, value=value)).is_whole is whole


def test_a_message_that_had_no_value_is_whole():
    letter = as_message(dead_letter(replace(MESSAGE, value=None), BROKEN, "prepare"))
    assert read_dead_letter(letter).is_whole


def test_a_dead_letter_of_another_program_inside_is_left_as_it_is():
    inner = dead_letter(MESSAGE, BROKEN, "prepare")
    outer = replace(as_message(inner, "again", 5))
    letter = read_dead_letter(as_message(dead_letter(outer, BROKEN, "label")))
    assert letter.origin == Origin("again", 0, 5)
    assert letter.original == inner


def test_reads_what_kafka_connect_writes():
    headers = {"topic": b"raw", "partition": b"1", "offset": b"2", "exception.class.name": b"java.lang.Oops"}
    message = Message(
        b"k", b"v", tuple((f"__connect.errors.{name}", value) for name, value in headers.items())
    )
    letter = read_dead_letter(message)
    assert (letter.reason, letter.detail, letter.url, letter.is_whole) == ("java.lang.Oops", "", None, True)


def places(partition, offset):
    named = {"topic": b"raw", "partition": partition, "offset": offset}
    return tuple((f"__connect.errors.{name}", value) for name, value in named.items())


def test_the_last_position_that_kafka_has_is_one():
    letter = read_dead_letter(Message(b"k", b"v", places(b"%d" % ((1 << 31) - 1), b"%d" % ((1 << 63) - 1))))
    assert letter.origin == Origin("raw", (1 << 31) - 1, (1 << 63) - 1)


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("__connect.errors.topic", b"raw"),),
        (("__connect.errors.topic", b"raw"), ("__connect.errors.partition", b"one")),
        tuple((f"__connect.errors.{name}", b"-5") for name in ("topic", "partition", "offset")),
        places(b"%d" % (1 << 31), b"0"),
        places(b"0", b"%d" % (1 << 63)),
    ],
)
def test_what_is_no_letter_is_none(headers):
    assert read_dead_letter(Message(b"k", b"v", headers)) is None


def test_long_and_odd_texts_fit_into_headers():
    odd = Broken(BrokenReason.INTERNAL_ERROR, "\udc80" + "x" * 5000, "http://" + "y" * 5000)
    headers = dict(dead_letter(MESSAGE, odd, "prepare").headers)
    assert headers["__connect.errors.exception.message"].startswith(b"?xxx")
    assert all(len(value or b"") <= 2000 for value in headers.values())


names = st.text(max_size=8) | st.sampled_from(["__connect.errors.topic", "dehusk.reason", "dehusk.url"])


@given(
    key=st.none() | st.binary(max_size=5),
    value=st.none() | st.binary(max_size=20),
    headers=st.lists(st.tuples(names, st.none() | st.binary(max_size=5)), max_size=4),
    detail=st.text(st.characters(), max_size=30),
)
def test_any_message_comes_back_as_it_was(key, value, headers, detail):
    message = Message(key, value, tuple(headers), "raw", 0, 1)
    record = dead_letter(message, Broken(BrokenReason.INTERNAL_ERROR, detail), "prepare")
    letter = read_dead_letter(as_message(record))
    assert letter.original == Record(key, value, message.headers)
    assert letter.reason == "internal-error"


def test_a_letter_without_its_message_is_bounded_whatever_it_tells():
    told = "𝄞" * 10_000
    letter = dead_letter(Message(None, b"", (), "t" * 249), Broken(BROKEN.reason, told, told), "prepare")
    assert sum(len(name) + len(value or b"") + 10 for name, value in letter.headers) < MAX_BARE_BYTES
