"""`dehusk probe`: a look at topics of the real Kafka, which leaves no trace on them."""

import asyncio
import gzip
import json
import shlex
from dataclasses import asdict

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.cli.worker import command as command_of_worker
from dehusk.streams.kafka.client import Topic, create_topics, describe_topics
from dehusk.streams.local.folder import free_ports
from dehusk.streams.local.kafka import KafkaNode, find_java, kafka_jars, kafka_nodes
from dehusk.streams.local.process import Service
from dehusk.streams.local.stack import default_cache
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.registry import SourceSettings, open_crawler_format, open_source
from dehusk.streams.sources.source import Record
from tests.commands import invoke
from tests.integration.conftest import write

HTML = "<html><title>T</title><body><h1>Head</h1><p>Some text in Größe</p></body></html>"


async def run(kafka, *arguments):
    result = await invoke("probe", "--brokers", kafka.brokers, *arguments)
    assert result.exit_code == 0
    return result.stdout


async def probed(kafka, *arguments):
    return json.loads(await run(kafka, "--json", *arguments))


OF_JSON = {"url": "http://x.test/6", "html": HTML}
OF_CDR = {"raw_content": HTML, "timestamp_crawl": "2026-01-02T03:04:05Z"}


def written_as(crawler, url="http://x.test/1"):
    return open_crawler_format(crawler, SourceSettings()).encode(RawPage(url, HTML.encode()))


async def test_says_what_each_message_is_and_would_become(kafka, topics):
    latin = HTML.encode("latin-1")
    records = {
        "page": Record(b"http://x.test/1", latin, (("content-type", b"text/html; charset=iso-8859-1"),)),
        "frontera": written_as("frontera"),
        "pdf": Record(b"http://x.test/2", b"%PDF-1.4 ...", (("content-type", b"application/pdf"),)),
        "no format": Record(None, b"\x93nothing known"),
        "no URL": Record(None, HTML.encode(), (("content-type", b"text/html"),)),
        "gone": Record(b"http://x.test/4", None),
        "two formats": Record(None, json.dumps({**OF_JSON, **OF_CDR}).encode()),
        "JSON": Record(b"http://x.test/5", b"[1]", (("content-type", b"application/json"),)),
    }
    await create_topics(kafka, [Topic(topics.group, 1, 1)])
    await write(kafka, topics.group, *records.values())
    messages = dict(zip(records, (await probed(kafka, topics.group))["messages"], strict=True))
    assert {name: message["format"] for name, message in messages.items()} == {
        "page": "html",
        "frontera": "frontera",
        "pdf": "html",
        "no format": None,
        "no URL": "html",
        "gone": None,
        "two formats": "json or cdr",
        "JSON": "html",
    }
    findings = {name: message["findings"][0] for name, message in messages.items()}
    assert findings["page"] == {
        "verdict": "page",
        "why": None,
        "url": "http://x.test/1",
        "encoding": "windows-1252",
        "html_bytes": len(HTML.encode()),
        "blocks": 2,
    }
    assert {
        name: (found["verdict"], (found["why"] or "").split(":")[0]) for name, found in findings.items()
    } == {
        "page": ("page", ""),
        "frontera": ("page", ""),
        "pdf": ("skipped", "not-html"),
        "no format": ("dead letter", "unknown-format"),
        "no URL": ("dead letter", "missing-url"),
        "gone": ("tombstone", ""),
        "two formats": ("dead letter", "unknown-format"),
        "JSON": ("skipped", "not-html"),
    }
    assert messages["page"]["bytes"] == len(latin) + len("http://x.test/1")


async def test_leaves_no_trace(kafka, topics, admin):
    await write(kafka, topics.input, *[written_as("html")] * 5)
    before = await groups(admin)
    first, second = await probed(kafka, topics.input), await probed(kafka, topics.input)
    assert first == second
    assert len(first["messages"]) == 5
    assert await groups(admin) == before


async def groups(admin):
    return {group[0] for group in await admin.list_consumer_groups()}


async def test_suggests_topics_and_the_worker_that_fit(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 6, 1, {"max.message.bytes": "3000000"})])
    await write(kafka, fresh, *[written_as("scrapy-cluster")] * 3)
    found = await probed(kafka, fresh, "--output", f"{fresh}-out", "--dead-letters", f"{fresh}-dead")
    settings = f"--bootstrap-server {kafka.brokers} --create --topic"
    assert found["create"] == [
        f"kafka-topics.sh {settings} {fresh}-out --partitions 6 --replication-factor 1 "
        "--config cleanup.policy=compact --config max.message.bytes=3000000",
        f"kafka-topics.sh {settings} {fresh}-dead --partitions 6 --replication-factor 1 "
        f"--config max.message.bytes={3_000_000 + 64 * 1024}",
    ]
    assert shlex.split(found["worker"]) == [
        *("dehusk", "worker", "--input", fresh, "--brokers", kafka.brokers),
        *("--output", f"{fresh}-out", "--dead-letters", f"{fresh}-dead"),
    ]
    assert [topic["max_message_bytes"] for topic in found["topics"]] == [3_000_000]


async def test_looks_at_several_topics_and_at_all_that_match(kafka, fresh):
    await create_topics(kafka, [Topic(f"{fresh}-{name}", number, 1) for number, name in enumerate("abc", 2)])
    for name, crawler in (("a", "nutch"), ("b", "ache"), ("c", "cdr")):
        await write(kafka, f"{fresh}-{name}", written_as(crawler))
    first, second = f"{fresh}-a", f"{fresh}-b"
    for arguments in ([first, second], [f"{first},{second}"], [f"^{fresh}-[ab]"]):
        found = await probed(kafka, *arguments)
        assert [(topic["name"], topic["partitions"]) for topic in found["topics"]] == [
            (first, 2),
            (second, 3),
        ]
        assert [(one["topic"], one["format"]) for one in found["messages"]] == [
            (first, "nutch"),
            (second, "ache"),
        ]
        assert shlex.split(found["worker"])[2:4] == ["--input", ",".join(arguments)]
    output = await run(kafka, first, second)
    assert f"{first}: 2 partitions, 1 replica\n{second}: 3 partitions" in output
    with pytest.raises(ConfigurationError, match=f"topic {fresh}-d does not exist"):
        await run(kafka, first, f"{fresh}-d")
    with pytest.raises(ConfigurationError, match=r"no topic on .* matches"):
        await run(kafka, f"^{fresh}-none")


async def test_the_suggested_worker_reads_the_source_that_was_probed(kafka, topics):
    await write(
        kafka, topics.input, Record(None, json.dumps({"link": "http://x.test/", "page": HTML}).encode())
    )
    options = ["--source", "json", "--field", "url=link", "--field", "html=page"]
    found = await probed(kafka, topics.input, *options)
    assert found["outcomes"] == {"page": 1}
    worker = shlex.split(found["worker"])
    assert [worker[place : place + 2] for place in range(4, len(worker), 2)] == [
        ["--brokers", kafka.brokers],
        ["--source", "json"],
        ["--field", "url=link"],
        ["--field", "html=page"],
    ]


async def test_messages_of_another_format_than_the_declared_one_are_named(kafka, topics):
    await write(kafka, topics.input, written_as("nutch"), written_as("warc"))
    found = await probed(kafka, topics.input, "--source", "html")
    assert found["formats"] == {"nutch": 1, "warc": 1}
    assert [message["findings"][0]["why"] for message in found["messages"]] == [
        "wrong-format: a message of nutch, not of html: --source nutch reads it",
        "wrong-format: a message of warc, not of html: --source warc reads it",
    ]


async def test_a_framed_topic_is_said_to_be(kafka, topics):
    value = b"\0\0\0\0\7" + json.dumps(OF_JSON).encode()
    await write(kafka, topics.input, Record(None, value), Record(b"http://x.test/", None))
    registry = "http://user:secret@127.0.0.1:1"
    found = await probed(kafka, topics.input, "--schema-registry", registry)
    assert (found["framed"], found["outcomes"]) == (True, {"page": 1, "tombstone": 1})
    assert found["worker"] == (
        f"DEHUSK_WORKER_SCHEMA_REGISTRY=… dehusk worker --input {topics.input} --brokers {kafka.brokers}"
    )


async def test_the_suggested_worker_has_the_reasons_of_the_forecast(kafka, topics):
    nameless = Record(None, HTML.encode())
    await write(kafka, topics.input, written_as("html"), nameless)
    found = await probed(kafka, topics.input)
    worker = command_of_worker.make_context("worker", shlex.split(found["worker"])[2:])
    source = open_source(worker.params["source"], SourceSettings(framed=worker.params["framed"]))
    (outcome,) = source.decode(Message(nameless.key, nameless.value))
    assert str(outcome) in [each["why"] for message in found["messages"] for each in message["findings"]]


async def test_several_formats_are_left_to_the_worker_to_recognise(kafka, topics):
    await write(kafka, topics.input, written_as("nutch"), written_as("cdr"))
    found = await probed(kafka, topics.input)
    assert found["formats"] == {"nutch": 1, "cdr": 1}
    assert "--source" not in found["worker"]


async def test_an_empty_topic_has_a_worker_too(kafka, topics):
    found = await probed(kafka, topics.input)
    assert (found["messages"], found["formats"]) == ([], {})
    assert "--source" not in found["worker"]
    assert "no messages yet" in await run(kafka, topics.input)


async def test_a_missing_topic_is_an_error_and_stays_missing(kafka, fresh):
    with pytest.raises(
        ConfigurationError, match=f"topic {fresh} does not exist .* --create --topic {fresh} "
    ):
        await run(kafka, fresh)
    assert await describe_topics(kafka, [fresh]) == {}


async def test_creates_what_is_missing_if_it_is_asked_to(kafka, fresh):
    names = [fresh, "--output", f"{fresh}-out", "--dead-letters", f"{fresh}-dead"]
    found = await probed(kafka, *names, "--create", "--partitions", 3)
    assert (found["created"], found["create"]) == ([fresh, f"{fresh}-out", f"{fresh}-dead"], [])
    topics = await describe_topics(kafka, [fresh, f"{fresh}-out", f"{fresh}-dead"])
    assert {(topic.partitions, topic.replicas) for topic in topics.values()} == {(3, 1)}
    assert topics[fresh].max_message_bytes == (16 << 20) + (64 << 10)
    assert topics[f"{fresh}-out"].settings["cleanup.policy"] == "compact"
    await write(kafka, fresh, Record(b"http://x.test/", b"<p>" + b"word " * (3 << 20)))
    assert (await probed(kafka, *names, "--create"))["created"] == []
    assert await describe_topics(kafka, list(topics)) == topics


async def test_creates_no_topic_that_a_pattern_could_match(kafka, fresh):
    with pytest.raises(ConfigurationError, match=f"no topic on .* matches .{fresh}"):
        await run(kafka, f"^{fresh}", "--create")


GUEST = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_guest="secret";'


class GuardedNode(KafkaNode):
    """A server with a user who has no rights; its own connections to its controller have all."""

    def _configuration(self):
        return {
            name: str(value).replace("PLAINTEXT://", "SASL_PLAINTEXT://")
            for name, value in super()._configuration().items()
        } | {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": GUEST,
            "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "security.inter.broker.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "super.users": "User:ANONYMOUS",
        }

    def is_ready(self):
        return "Kafka Server started" in (self.directory.parent / "kafka.log").read_text()


async def test_a_user_without_rights_is_told_which_one_is_missing(tmp_path):
    (node,) = kafka_nodes(free_ports(2), tmp_path, find_java(), kafka_jars(default_cache()))
    guarded = GuardedNode(**asdict(node))
    service = Service(guarded, tmp_path / "kafka.log")
    await asyncio.to_thread(service.start)
    security = ["--security-protocol", "SASL_PLAINTEXT", "--sasl-mechanism", "PLAIN"]
    user = ["--sasl-username", "guest", "--sasl-password", "secret"]
    try:
        with pytest.raises(ConfigurationError) as refused:
            await run(KafkaSettings(f"127.0.0.1:{node.port}"), "pages", "--create", *security, *user)
    finally:
        service.kill()
    assert "refuses: User:guest lacks Create on topic pages; an administrator grants it: " in str(
        refused.value
    )


async def test_huge_messages_are_looked_at_too(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 1, 1, {"max.message.bytes": str(60 << 20)})])
    bomb = gzip.compress(bytes(200 << 20))
    await write(
        kafka,
        fresh,
        Record(b"http://x.test/1", b"<p>" + b"word " * (10 << 20), (("content-type", b"text/html"),)),
        Record(b"http://x.test/2", bomb, (("content-type", b"text/html"), ("content-encoding", b"gzip"))),
    )
    found = await probed(kafka, fresh)
    assert [message["findings"][0]["why"].split(":")[0] for message in found["messages"]] == [
        "page-too-large",
        "inflates-too-large",
    ]


async def test_shows_a_table_for_people(kafka, topics, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    await write(kafka, topics.input, written_as("ache"), Record(b"http://x.test/\x1b[2J", b"%PDF", ()))
    output = await run(kafka, topics.input)
    assert "http://x.test/1" in output
    assert "\x1b" not in output
    assert "1 would become: page\n" in output
    assert f"dehusk worker --input {topics.input}" in output


@pytest.mark.parametrize("sample", [1, 3])
async def test_looks_at_no_more_than_it_is_asked_to(kafka, topics, sample):
    await write(kafka, topics.input, *(written_as("html", f"http://x.test/{number}") for number in range(40)))
    assert len((await probed(kafka, topics.input, "--sample", sample))["messages"]) == sample
