"""Users of Kafka without a right that they need, which is named, and clients of another security."""

import asyncio
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cancellation import cancel
from dehusk.streams.kafka.client import Topic, check_rights, create_topics, ensure_topics
from dehusk.streams.kafka.rights import worker_rights
from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.input.membership import Membership
from dehusk.streams.worker.revisits.requests import Request, open_requests, write_request
from dehusk.streams.worker_settings import WorkerSettings
from tests.commands import DEHUSK
from tests.integration.secured_kafka import PASSWORD, USER, SecuredKafka, secured_kafka
from tests.integration.worker.conftest import Bench, Worker

Pages = Callable[[int], list[Record]]
RESOURCES = {"topic", "group", "transactional-id"}
OF_USER = (
    *("--security-protocol", "SASL_PLAINTEXT", "--sasl-mechanism", "PLAIN"),
    *("--sasl-username", USER, "--sasl-password", PASSWORD),
)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with secured_kafka(tmp_path_factory.mktemp("secured")) as running:
        yield running


def topics_of(fresh: str) -> TopicSettings:
    names = TopicSettings(f"{fresh}-raw", f"{fresh}-cleaned", f"{fresh}-dead", f"{fresh} group")
    return replace(names, audit=f"{fresh}-audit", monitoring=f"{fresh}-figures", revisits=f"{fresh}-again")


@pytest.fixture
def topics(fresh: str) -> TopicSettings:
    return topics_of(fresh)


@pytest.fixture
async def guarded(bench: Bench) -> Bench:
    """Topics that exist, on which the user of the workers has no right yet."""
    await create_topics(bench.kafka, [Topic(bench.topics.input, partitions=2, replicas=1)])
    await ensure_topics(bench.kafka, bench.topics)
    return bench


@pytest.fixture
def kafka(secured: SecuredKafka) -> KafkaSettings:
    """The secured one, in the place of the stack's."""
    return secured.administrator


def worker(bench: Bench, secured: SecuredKafka, *options: str) -> Worker:
    topics = bench.topics
    return bench.worker(
        *("--brokers", secured.user.brokers, *OF_USER, "--audit-topic", topics.audit),
        *(
            "--monitoring-topic",
            topics.monitoring,
            "--revisit-topic",
            topics.revisits,
            "--revisit-after",
            "5",
        ),
        *options,
    )


def rights_of(topics: TopicSettings) -> dict[str, tuple[str, str, str]]:
    """The rights of a worker, by their names in its errors."""
    beside = (topics.revisits, topics.monitoring, topics.control)
    read = [("Read", "topic", name) for name in (topics.input, *beside) if name]
    groups = [("Read", "group", name) for name in (topics.group, topics.revisit_group)]
    written = [("Write", "topic", name) for name in topics.written]
    return {f"{right[0]} on {right[1]} {right[2]}": right for right in (*read, *groups, *written)}


def granted_by(line: str) -> list[tuple[str, str, str]]:
    """The rights that the commands of an error grant its user."""
    granted = []
    for command in line[line.index("kafka-acls.sh") :].split("&&"):
        words = shlex.split(command)
        given = list(pairwise(words))
        assert ("--allow-principal", f"User:{USER}") in given
        operation = next(value for name, value in given if name == "--operation")
        granted += [(operation, name[2:], value) for name, value in given if name[2:] in RESOURCES]
    return granted


async def test_a_start_without_rights_names_all_and_what_it_says_grants_them(
    guarded: Bench, secured: SecuredKafka, site: Pages
) -> None:
    refused = worker(guarded, secured)
    assert await asyncio.to_thread(refused.process.wait, 60) == 1
    *_, line = refused.log.read_text().splitlines()
    assert line.startswith(f"dehusk: Kafka at {secured.user.brokers} refuses: User:{USER} lacks ")
    assert not refused.says("Traceback")
    assert not refused.says(PASSWORD)
    granted = granted_by(line)
    assert sorted(granted) == sorted(rights_of(guarded.topics).values())
    for right in granted:
        await secured.allow(*right)
    started = worker(guarded, secured)
    await guarded.produce(site(7))
    await guarded.until(started.has_partitions)
    await guarded.until_done()
    assert len({document.key for document in await guarded.documents()}) == 7
    assert started.stop() == 0
    needed = worker_rights(guarded.topics, [guarded.topics.input])
    for described in ("topic", "group"):  # of what it may see, each right is named alone
        for name, right in rights_of(guarded.topics).items():
            if right[1] != described:
                continue
            await secured.allow("Describe", *right[1:])
            await secured.forbid(*right)
            with pytest.raises(ConfigurationError, match=re.escape(f"lacks {name}; an administrator")):
                await check_rights(secured.user, needed)
            await secured.allow(*right)


async def test_transactions_need_a_right_of_their_own(
    guarded: Bench, secured: SecuredKafka, site: Pages
) -> None:
    for right in rights_of(guarded.topics).values():
        await secured.allow(*right)
    refused = worker(guarded, secured, "--delivery", "exactly-once")
    assert await asyncio.to_thread(refused.process.wait, 60) == 1
    *_, line = refused.log.read_text().splitlines()
    prefix = f"{guarded.topics.group}/{guarded.topics.input}/"
    assert f"lacks Write on transactional-id {prefix}; an administrator grants it" in line
    assert f"--transactional-id '{prefix}' --resource-pattern-type prefixed" in line
    (right,) = granted_by(line)
    await secured.allow(*right)
    started = worker(guarded, secured, "--delivery", "exactly-once")
    await guarded.produce(site(7))
    await guarded.until(started.has_partitions)
    await guarded.until_done()
    assert {document.key for document in await guarded.documents()} == {page.key for page in site(7)}
    assert started.stop() == 0


@pytest.mark.parametrize(
    ("delivery", "taken"),
    [
        ("at-least-once", ("input", "group", "output", "dead_letters", "audit")),
        ("exactly-once", ("group", "output", "transactions", "known transactions")),
    ],
)
async def test_a_right_that_is_taken_away_is_named_until_it_is_given_again(
    bench: Bench, secured: SecuredKafka, site: Pages, delivery: str, taken: tuple[str, ...]
) -> None:
    async with asyncio.TaskGroup() as tasks:  # each has a worker and topics of its own
        for which in taken:
            tasks.create_task(take_and_give_again(bench, secured, site, which, delivery))


async def take_and_give_again(
    bench: Bench, secured: SecuredKafka, site: Pages, which: str, delivery: str
) -> None:
    topics = topics_of(f"{bench.topics.input}-{which.replace(' ', '-')}")
    async with bench.beside(topics, partitions=2) as guarded:
        await _take_and_give_again(guarded, secured, site, which, delivery)


async def _take_and_give_again(
    guarded: Bench, secured: SecuredKafka, site: Pages, which: str, delivery: str
) -> None:
    rights = rights_of(guarded.topics)
    prefix = f"{guarded.topics.group}/{guarded.topics.input}/"
    if delivery == "exactly-once":
        rights[f"Write on transactional-id {prefix}"] = ("Write", "transactional-id", prefix)
    for right in rights.values():
        await secured.allow(*right)
    running = worker(guarded, secured, "--delivery", delivery)
    await guarded.produce(site(5))
    await guarded.until(running.has_partitions)
    await guarded.until_done()
    taken = getattr(guarded.topics, which, prefix)
    name, right = next((name, right) for name, right in rights.items() if right[2] == taken)
    if which == "known transactions":  # brokers then tell of the right only when it is used
        await secured.allow("Describe", *right[1:])
    await secured.forbid(*right)
    await guarded.produce([*site(20), Record(b"https://broken.example/", b"\xff", (("content-type", b"x"),))])
    await guarded.until(lambda: running.says(f"lacks {name}; an administrator"))
    assert running.is_alive()
    refused = f"kafka is unavailable: Kafka at {secured.user.brokers} refuses"
    await guarded.until(lambda: refused in running.page("healthz"))  # a transaction may have met it before
    assert not running.is_ready()
    await asyncio.sleep(12)
    warned = re.findall(r" WARNING +kafka is unavailable, .*lacks", running.log.read_text())
    assert len(warned) == 1
    await secured.allow(*right)
    await guarded.until_done()
    await guarded.until(running.is_ready)
    assert len({document.key for document in await guarded.documents()}) == 20
    assert not running.says("Traceback")
    denials = re.findall(r"\S+ \S+ (.*uthoriz.*)", running.log.read_text())
    assert len(denials) == len(set(denials))
    assert running.stop() == 0


@pytest.mark.parametrize("which", ["monitoring", "control"])
async def test_pages_do_not_wait_for_a_right_on_figures_or_versions(
    guarded: Bench, secured: SecuredKafka, site: Pages, which: str
) -> None:
    guarded.topics = topics = replace(
        guarded.topics, control=f"{guarded.topics.group}-control".replace(" ", "-")
    )
    await ensure_topics(guarded.kafka, topics)
    for right in rights_of(topics).values():
        await secured.allow(*right)
    running = worker(guarded, secured, "--control-topic", topics.control, "--labeler", "onnx")
    await guarded.until(running.has_partitions)
    await guarded.until(running.is_ready)
    assert running.page("readyz") == "ok\n"
    name, operations = getattr(topics, which), ("Read", "Write")
    for operation in operations:
        await secured.forbid(operation, "topic", name)
    for operation in operations:
        await guarded.until(lambda: f"lacks {operation} on topic {name}; an admin" in running.page("readyz"))  # noqa: B023
    await guarded.produce(site(5))
    await guarded.until_done()
    assert running.is_ready()
    assert "kafka" not in running.report()["unavailable"]
    assert any(f"on topic {name}; an administrator" in note for note in running.report()["notes"])
    for operation in operations:
        await secured.allow(operation, "topic", name)
    await guarded.until(lambda: running.page("readyz") == "ok\n")
    assert not running.says("Traceback")
    assert running.stop() == 0


async def test_second_cleanings_go_on_once_their_group_may_be_joined_again(
    guarded: Bench, secured: SecuredKafka, caplog: pytest.LogCaptureFixture
) -> None:
    """Join again as the group of the pages does, which is another client's."""
    topics, handled = guarded.topics, []
    settings = WorkerSettings(kafka=secured.user, topics=topics, session_seconds=6)
    group = ("Read", "group", topics.revisit_group)
    await secured.allow("Read", "topic", topics.revisits)
    await secured.allow(*group)

    async def ask(site: str) -> None:
        await guarded.produce_to(topics.revisits, [write_request(Request(site), topics.group)])

    async def handle(requests: Sequence[Request]) -> None:
        handled.extend(request.site for request in requests)

    membership = Membership(settings.session_seconds)

    async def renew() -> None:
        membership.mark_drained()

    async with open_requests(settings, topics.revisits, membership) as requests:
        running = asyncio.create_task(requests.run(handle, renew))
        await ask("before.example")
        await guarded.until(lambda: handled)
        await secured.forbid(*group)
        await guarded.until(lambda: f"lacks Read on group {topics.revisit_group}; an admin" in caplog.text)
        await secured.allow(*group)
        await ask("after.example")
        await guarded.until(lambda: "after.example" in handled)
        await cancel([running])


async def test_a_topic_that_comes_later_and_may_not_be_read_is_named(
    guarded: Bench, secured: SecuredKafka, site: Pages
) -> None:
    for right in rights_of(guarded.topics).values():
        await secured.allow(*right)
    running = worker(guarded, secured, "--input", f"^{guarded.topics.input}")
    await guarded.until(running.has_partitions)
    later = f"{guarded.topics.input}-2"
    await create_topics(guarded.kafka, [Topic(later, partitions=1, replicas=1)])
    await secured.allow("Describe", "topic", later)
    await guarded.until(lambda: running.says(f"lacks Read on topic {later}; an administrator"))
    await guarded.produce(site(5))  # others are read meanwhile
    await guarded.until_done()
    await guarded.produce_to(later, [Record(b"https://later.example/", b"<p>A page.", ())])
    await secured.allow("Read", "topic", later)
    await guarded.until(running.is_ready)
    await guarded.until(lambda: running.report()["totals"]["pages"] >= 6)
    assert not running.says("Traceback")


def run(command: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    words = [DEHUSK, *command, *options, *OF_USER]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


async def test_other_commands_name_the_right_that_they_lack(
    guarded: Bench, secured: SecuredKafka, tmp_path: Path
) -> None:
    brokers, topics = ("--brokers", secured.user.brokers), guarded.topics
    pages = tmp_path / "pages.jsonl"
    pages.write_text('{"id": 1, "url": "https://a.example/", "html": "<p>A page.</p>"}\n')
    for topic in (topics.input, topics.output, topics.dead_letters, topics.monitoring):
        await guarded.produce_to(topic, [Record(b"key", b"value", ())])
    lacking_of = {
        ("read", "--topic", topics.output): f"Read on topic {topics.output}",
        ("probe", topics.input): f"Read on topic {topics.input}",
        ("dead-letters", "list", "--topic", topics.dead_letters): f"Read on topic {topics.dead_letters}",
        ("dead-letters", "replay", "--topic", topics.dead_letters): (
            f"Read on topic {topics.dead_letters}, Write on topic {topics.dead_letters}"
        ),
        ("top", "--once", "--monitoring-topic", topics.monitoring): f"Read on topic {topics.monitoring}",
        ("feed", str(pages), "--topic", topics.input): f"Write on topic {topics.input}",
    }
    for described in (False, True):
        if described:
            for topic in (topics.input, topics.output, topics.dead_letters, topics.monitoring):
                await secured.allow("Describe", "topic", topic)
        waits = [asyncio.to_thread(run, [*command], *brokers) for command in lacking_of]
        for (command, lacking), ended in zip(lacking_of.items(), await asyncio.gather(*waits), strict=True):
            message = ended.stderr.splitlines()[-1]
            assert ended.returncode == 1, command
            assert f"refuses: User:{USER} lacks {lacking}; an admin" in message
            assert not {"Traceback", "sent"} & set(ended.stderr.split())
            assert ended.stderr.count("password in the clear") <= 1  # as aiokafka warns for each connection


async def test_a_probe_tells_which_rights_a_worker_lacks(guarded: Bench, secured: SecuredKafka) -> None:
    topics = guarded.topics
    await secured.allow("Read", "topic", topics.input)
    await secured.allow("Describe", "topic", topics.output)
    brokers = ("--brokers", secured.user.brokers)
    own = ("--output", topics.output, "--dead-letters", topics.dead_letters, "--json")
    probed = orjson.loads((await asyncio.to_thread(run, ["probe", topics.input], *brokers, *own)).stdout)
    assert probed["create"] == []
    assert sorted(granted_by(" && ".join(probed["grant"]))) == [
        ("Read", "group", "dehusk"),
        ("Write", "topic", topics.output),
        ("Write", "topic", topics.dead_letters),
    ]
    more = (
        *("--group", topics.group, "--audit-topic", topics.audit, "--monitoring-topic", topics.monitoring),
        *("--revisit-after", "5", "--revisit-topic", topics.revisits, "--delivery", "exactly-once"),
    )
    ended = await asyncio.to_thread(run, ["probe", topics.input], *brokers, *own, *more)
    rights = {*rights_of(topics).values()} - {("Read", "topic", topics.input)}
    rights.add(("Write", "transactional-id", f"{topics.group}/{topics.input}/"))
    assert set(granted_by(" && ".join(orjson.loads(ended.stdout)["grant"]))) == rights


async def test_a_topic_that_may_not_be_created_is_named(secured: SecuredKafka, fresh: str) -> None:
    with pytest.raises(ConfigurationError, match=f"lacks Create on topic {fresh}; an administrator"):
        await create_topics(secured.user, [Topic(fresh, 1, 1)])


async def test_a_created_topic_is_to_be_written_where_its_user_may_not_know_of_it(
    secured: SecuredKafka, fresh: str
) -> None:
    topics = TopicSettings(f"{fresh}-raw", f"{fresh}-cleaned", f"{fresh}-dead")
    await create_topics(secured.administrator, [Topic(topics.input, 1, 1)])
    await secured.allow("Read", "topic", topics.input)
    for name in (topics.output, topics.dead_letters):
        await secured.allow("Create", "topic", name)
    with pytest.raises(
        ConfigurationError, match=f"lacks Write on topic {fresh}-cleaned and topic {fresh}-dead"
    ):
        await ensure_topics(secured.user, topics)


async def test_the_security_that_a_listener_asks_for_is_named(secured: SecuredKafka) -> None:
    plain = ["read", "--topic", "raw", "--security-protocol", "PLAINTEXT", "--brokers"]
    tls = ["read", "--topic", "raw", "--security-protocol", "SSL", "--brokers"]
    open_to_all = secured.administrator.brokers
    for words, advice in {
        (*plain, secured.user.brokers): "asks for a user (PLAIN): give --security-protocol SASL_PLAINTEXT",
        (*plain, secured.tls): "speaks TLS: give --security-protocol SSL, or SASL_SSL with a user",
        ("read", "--brokers", secured.tls, *OF_USER): "speaks TLS: give --security-protocol SASL_SSL",
        (*tls, secured.user.brokers): "has no TLS: give --security-protocol SASL_PLAINTEXT, with a user",
        (*tls, open_to_all): "has no TLS: give --security-protocol PLAINTEXT, without a user",
        ("read", "--brokers", open_to_all, *OF_USER): (
            "asks for no user: give --security-protocol PLAINTEXT, without one"
        ),
        (
            *("read", "--brokers", secured.user.brokers),
            *("SCRAM-SHA-256" if word == "PLAIN" else word for word in OF_USER),
        ): "does not take SCRAM-SHA-256: give --sasl-mechanism PLAIN",
    }.items():
        ended = await asyncio.to_thread(
            subprocess.run, [DEHUSK, *words], capture_output=True, text=True, timeout=60, check=False
        )
        *_, message = ended.stderr.splitlines()
        (brokers,) = {secured.user.brokers, secured.tls, open_to_all}.intersection(words)
        assert (ended.returncode, message) == (
            1,
            f"dehusk: Kafka at {brokers} refuses: its listener {advice}",
        )
        assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("seconds", ["3", "1801"])
async def test_a_session_that_brokers_do_not_take_ends_the_start(bench: Bench, seconds: str) -> None:
    await create_topics(bench.kafka, [Topic(bench.topics.input, 1, 1)])
    await ensure_topics(bench.kafka, bench.topics)
    refused = bench.worker("--brokers", bench.kafka.brokers, "--session-seconds", seconds)
    assert await asyncio.to_thread(refused.process.wait, 60) == 1
    assert refused.says(f"refuses --session-seconds {seconds}: it has to be within")
    assert not refused.says("Traceback")


async def test_a_session_may_be_longer_than_faust_waits(bench: Bench, site: Pages) -> None:
    await create_topics(bench.kafka, [Topic(bench.topics.input, 1, 1)])
    await ensure_topics(bench.kafka, bench.topics)
    running = bench.worker("--brokers", bench.kafka.brokers, "--session-seconds", "120")
    await bench.produce(site(3))
    await bench.until(running.has_partitions)
    await bench.until_done()
    assert running.stop() == 0
