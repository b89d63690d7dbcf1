"""Topics that an input names."""

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.kafka.input_topics import input_topics
from dehusk.streams.settings import TopicSettings

EXISTING = ["crawl-b", "crawl-a", "crawl", "my-crawl-a", "crawl-a.old"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("crawl-a", ["crawl-a"]),
        ("crawl-b, crawl-a", ["crawl-a", "crawl-b"]),
        ("^crawl-", ["crawl-a", "crawl-a.old", "crawl-b"]),
        ("^crawl-.$", ["crawl-a", "crawl-b"]),
        ("^crawl-[a,]{1,3}$", ["crawl-a"]),
        (r"^(?!crawl-|cleaned-documents$|dead-letters$)", ["crawl", "my-crawl-a"]),
        ("crawl.*", []),
    ],
)
def test_names_are_taken_as_they_are_and_patterns_from_the_start(text, read):
    assert input_topics(TopicSettings(text)).among(EXISTING) == read


@pytest.mark.parametrize("text", ["", "a,", "a,,b", "a,^b", "^crawl-["])
def test_what_is_neither_names_nor_a_pattern_is_refused(text):
    with pytest.raises(ConfigurationError, match="the input"):
        input_topics(TopicSettings(text))


@pytest.mark.parametrize("text", ["out", "in,out", "^o", "dead", "^de.d"])
def test_a_worker_does_not_read_what_it_writes(text):
    with pytest.raises(ConfigurationError, match="which the worker writes to"):
        input_topics(TopicSettings(text, "out", "dead"))


@pytest.mark.parametrize("text", ["again", "^a"])
def test_a_worker_does_not_read_its_revisits_as_pages(text):
    with pytest.raises(ConfigurationError, match=r"holds again, .*--revisit-topic"):
        input_topics(TopicSettings(text, "out", "dead", revisits="again"))
    assert input_topics(TopicSettings(text, "out", "dead")).match("again")


@pytest.mark.parametrize(("revisits", "option"), [("out", "--output"), ("dead", "--dead-letters")])
def test_revisits_have_a_topic_of_their_own(revisits, option):
    said = f"--revisit-topic needs a topic of its own, and {revisits} is that of {option}"
    with pytest.raises(ConfigurationError, match=said):
        input_topics(TopicSettings("in", "out", "dead", revisits=revisits))
