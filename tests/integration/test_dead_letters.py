"""Listing and replaying dead letters, on the real Kafka."""

import json

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.sources.source import Record
from dehusk.streams.topics.dead_letters import dead_letter
from tests.commands import invoke
from tests.integration.conftest import messages, write

HEADERS = (("content-type", b"text/html"), ("empty", None))


async def fail_all(kafka, raw, dead):
    """Do what a worker does whose every page is broken; return the number of pages."""
    letters = [
        dead_letter(
            message,
            Broken(BrokenReason.INTERNAL_ERROR, "it broke", "http://x.test/" + str(message.value)),
            "prepare",
        )
        for message in await messages(kafka, raw)
    ]
    await write(kafka, dead, *letters)
    return len(letters)


async def run(kafka, *arguments):
    """The exit code and output of a command."""
    result = await invoke("dead-letters", arguments[0], "--brokers", kafka.brokers, *arguments[1:])
    return result.exit_code, result.stdout


async def test_a_replayed_message_is_the_original(kafka, topics):
    raw, dead = topics.input, topics.dead_letters
    original = Record(b"http://x.test/", b"<p>page", HEADERS)
    await write(kafka, raw, original)
    await fail_all(kafka, raw, dead)
    assert await run(kafka, "replay", "--topic", dead) == (0, "1 put back\n")
    first, again = await messages(kafka, raw)
    assert (again.key, again.value, again.partition) == (first.key, first.value, first.partition)
    assert again.headers[:2] == HEADERS
    assert again.headers[2:] == (
        ("dehusk.replays", b"1"),
        ("dehusk.replay-of", f"{raw}/{first.partition}/{first.offset}".encode()),
    )


@pytest.mark.parametrize("key", [None, b"0123456789ABCDEF"])
async def test_a_null_value_stays_null(kafka, topics, key):
    raw, dead = topics.input, topics.dead_letters
    await write(kafka, raw, Record(key, None))
    await fail_all(kafka, raw, dead)
    (letter,) = await messages(kafka, dead)
    assert (letter.key, letter.value) == (key, None)
    assert await run(kafka, "replay", "--topic", dead) == (0, "1 put back\n")
    assert [(message.key, message.value) for message in await messages(kafka, raw)] == [(key, None)] * 2


async def test_what_was_put_back_is_dealt_with(kafka, topics):
    raw, dead = topics.input, topics.dead_letters
    await write(kafka, raw, *(Record(b"%d" % number, b"page") for number in range(5)))
    await fail_all(kafka, raw, dead)
    assert await run(kafka, "replay", "--topic", dead, "--limit", "3") == (0, "3 put back\n")
    _, output = await run(kafka, "list", "--topic", dead)
    assert output.endswith(f"2 dead letters on {dead}\n3 more were put back already; --all shows them too\n")
    assert await run(kafka, "replay", "--topic", dead) == (0, "2 put back\n3 left: put back already\n")
    replayed = [message.key for message in await messages(kafka, raw) if message.header("dehusk.replays")]
    assert sorted(replayed) == [b"%d" % number for number in range(5)]
    assert await run(kafka, "list", "--topic", dead, "--json") == (0, "")
    _, lines = await run(kafka, "list", "--topic", dead, "--json", "--all")
    assert [json.loads(line)["settled"] for line in lines.splitlines()] == ["put back already"] * 5
    assert await run(kafka, "replay", "--topic", dead, "--all") == (0, "5 put back\n")
    assert len(await messages(kafka, raw)) == 15


async def test_what_failed_again_is_yet_to_be_dealt_with(kafka, topics):
    raw, dead = topics.input, topics.dead_letters
    await write(kafka, raw, Record(b"key", b"page"))
    await fail_all(kafka, raw, dead)
    await run(kafka, "replay", "--topic", dead)
    (again,) = [message for message in await messages(kafka, raw) if message.header("dehusk.replays")]
    await write(
        kafka, dead, dead_letter(again, Broken(BrokenReason.MEMORY_BUDGET_EXCEEDED, "again"), "prepare")
    )
    _, lines = await run(kafka, "list", "--topic", dead, "--json", "--all")
    found = {each["reason"]: each["settled"] for each in map(json.loads, lines.splitlines())}
    assert found == {
        "internal-error": "a later dead letter of the same message",
        "memory-budget-exceeded": None,
    }
    assert (await run(kafka, "replay", "--topic", dead, "--all"))[1].startswith("1 put back\n")


async def test_only_the_latest_letter_of_a_message_is_replayed_and_only_so_often(kafka, topics):
    raw, dead = topics.input, topics.dead_letters
    await write(kafka, raw, Record(b"key", b"page"))
    replayed = []
    for _ in range(5):
        newest = (await messages(kafka, raw))[-1:]
        await write(
            kafka, dead, *(dead_letter(m, Broken(BrokenReason.INTERNAL_ERROR, ""), "prepare") for m in newest)
        )
        _, output = await run(kafka, "replay", "--topic", dead, "--most-replays", "3")
        replayed.append(output.splitlines()[0])
    assert replayed == ["1 put back"] * 3 + ["0 put back"] * 2
    assert len(await messages(kafka, raw)) == 4
    assert [m.header("dehusk.replays") for m in await messages(kafka, raw)] == [None, b"1", b"2", b"3"]


async def test_replays_what_is_asked_for(kafka, topics):
    raw, dead = topics.input, topics.dead_letters
    wanted = Broken(BrokenReason.PROCESS_CRASHED, "", "http://a.test/1")
    other = Broken(BrokenReason.MEMORY_BUDGET_EXCEEDED, "", "http://b.test/1")
    first, second = (Message(b"key", b"page", (), raw, 0, offset) for offset in (7, 8))
    await write(kafka, dead, dead_letter(first, wanted, "prepare"), dead_letter(second, other, "label"))
    for options, count in {
        ("--reason", "process-crashed"): 1,
        ("--stage", "label"): 1,
        ("--url", "b.test"): 1,
        ("--url", "test", "--limit", "1"): 1,
        ("--stage", "label", "--reason", "process-crashed"): 0,
        (): 2,
    }.items():
        result = await run(kafka, "replay", "--dry-run", "--topic", dead, *options)
        assert result == (0, f"{count} would be put back\n")
    assert await messages(kafka, raw) == []
    assert await run(kafka, "replay", "--topic", dead, "--limit", "1") == (0, "1 put back\n")
    assert len(await messages(kafka, raw)) == 1


async def test_what_cannot_be_put_back_is_told(kafka, topics):
    raw, dead = topics.input, topics.dead_letters
    broken = Broken(BrokenReason.PAGE_TOO_LARGE, "")
    whole = dead_letter(Message(b"k", b"value", (), raw), broken, "prepare")
    homeless = dead_letter(Message(b"k", b"value", (), raw + "-gone"), broken, "prepare")
    await write(kafka, dead, Record(b"k", None, whole.headers), homeless, whole)
    status, output = await run(kafka, "replay", "--topic", dead)
    assert status == 1
    assert output.splitlines()[0] == "1 put back"
    assert {line.split(":")[0] for line in output.splitlines()[1:]} == {"1 left"}
    assert len(await messages(kafka, raw)) == 1


async def test_records_of_another_kind_on_the_topic_are_passed_over(kafka, topics):
    raw, dead = topics.input, topics.dead_letters
    await write(
        kafka,
        dead,
        Record(b"k", b"no letter"),
        Record(b"k", b"x", (("__connect.errors.topic", raw.encode()),)),
    )
    assert await run(kafka, "replay", "--topic", dead) == (0, "0 put back\n")
    assert await run(kafka, "list", "--topic", dead) == (0, f"0 dead letters on {dead}\n")


async def test_lists_letters_with_counts_of_their_reasons(kafka, topics):
    raw, dead = topics.input, topics.dead_letters
    await write(kafka, raw, *(Record(b"%d" % number, b"page") for number in range(5)))
    await fail_all(kafka, raw, dead)
    await write(
        kafka,
        dead,
        dead_letter(
            Message(b"", b"12", (), raw, 2, 9), Broken(BrokenReason.MISSING_URL, "\x1b[2J"), "decode"
        ),
    )
    status, output = await run(kafka, "list", "--topic", dead, "--limit", "2")
    assert status == 0
    assert "5 internal-error (prepare)\n1 missing-url (decode)\n" in output
    assert f"6 dead letters on {dead}" in output
    assert "\x1b" not in output
    assert output.count("it broke") <= 2
    _, lines = await run(kafka, "list", "--topic", dead, "--json", "--reason", "missing-url")
    (letter,) = map(json.loads, lines.splitlines())
    assert letter.pop("failed_at").startswith("20")
    assert letter.pop("dead_letter")["topic"] == dead
    assert letter == {
        "reason": "missing-url",
        "stage": "decode",
        "url": None,
        "detail": "\x1b[2J",
        "source": {"topic": raw, "partition": 2, "offset": 9},
        "bytes": 2,
        "replays": 0,
        "settled": None,
    }


@pytest.mark.parametrize("command", ["list", "replay"])
async def test_a_missing_topic_is_an_error_that_says_how_to_create_it(kafka, fresh, command):
    with pytest.raises(
        ConfigurationError, match=f"topic {fresh} does not exist .* --create --topic {fresh} "
    ):
        await run(kafka, command, "--topic", fresh)


async def test_letters_go_back_to_the_topics_that_they_came_from(kafka, topics, fresh):
    dead, other = topics.dead_letters, f"{fresh}-other"
    await create_topics(kafka, [Topic(other, 2, 1)])
    await write(kafka, topics.input, Record(b"a", b"page"), Record(b"b", b"page"))
    await write(kafka, other, Record(b"c", b"page"))
    assert await fail_all(kafka, topics.input, dead) + await fail_all(kafka, other, dead) == 3
    assert await run(kafka, "replay", "--topic", dead) == (0, "3 put back\n")
    assert sorted(message.key for message in await messages(kafka, topics.input)) == [b"a", b"a", b"b", b"b"]
    assert [message.key for message in await messages(kafka, other)] == [b"c", b"c"]


async def test_what_was_sent_compressed_goes_back_compressed(kafka, topics, fresh):
    await create_topics(kafka, [Topic(fresh, 1, 1, {"max.message.bytes": "100000"})])
    message = Message(b"a", b"<p>and so on" * 50_000, (), fresh, 0, 0)
    letter = dead_letter(message, Broken(BrokenReason.INTERNAL_ERROR, "it broke"), "prepare")
    await write(kafka, topics.dead_letters, letter)
    replay = ("replay", "--topic", topics.dead_letters)
    assert await run(kafka, *replay) == (1, "0 put back\n1 left: too large for its topic\n")
    assert await run(kafka, *replay, "--compression", "zstd") == (0, "1 put back\n")
    assert [found.value for found in await messages(kafka, fresh)] == [message.value]
