"""Workers and commands that log in to a real Kafka by SCRAM, by tokens of OAuth, and by certificates."""

import asyncio
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import orjson
import pytest

from dehusk.streams.kafka.client import Topic, create_topics, ensure_topics
from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.sources.source import Record
from tests.commands import DEHUSK
from tests.integration.conftest import topics_of
from tests.integration.login_kafka import PASSWORD, LoginKafka, login_kafka
from tests.integration.worker.conftest import Bench

Pages = Callable[[int], list[Record]]


@pytest.fixture(scope="module")
def logins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoginKafka]:
    with login_kafka(tmp_path_factory.mktemp("logins")) as running:
        yield running


@pytest.fixture
def kafka(logins: LoginKafka) -> KafkaSettings:
    """The one with logins, in the place of the stack's."""
    return logins.administrator


@pytest.fixture
async def topics(kafka: KafkaSettings, fresh: str) -> TopicSettings:
    names = replace(topics_of(fresh), revisits=f"{fresh}-again", monitoring=f"{fresh}-figures")
    await create_topics(kafka, [Topic(names.input, partitions=4, replicas=1)])
    await ensure_topics(kafka, names)
    return names


def others(bench: Bench) -> tuple[str, ...]:
    """Options by which a worker opens every kind of client."""
    topics = bench.topics
    revisits = ("--revisit-after", "5", "--revisit-topic", str(topics.revisits))
    return (*revisits, "--monitoring-topic", str(topics.monitoring), "--log-level", "debug")


def documents(topic: str, login: Sequence[str]) -> list[str]:
    """URLs of the documents that `dehusk read` prints."""
    words = [DEHUSK, "read", "--topic", topic, *login]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return [orjson.loads(line)["url"] for line in ended.stdout.splitlines()]


@pytest.mark.parametrize(("name", "delivery"), [("scram", "exactly-once"), ("mutual", "at-least-once")])
async def test_a_worker_logs_in(
    bench: Bench, logins: LoginKafka, site: Pages, name: str, delivery: str
) -> None:
    login = getattr(logins, name)
    pages = site(20)
    worker = bench.worker(*login, "--delivery", delivery, *others(bench))
    await bench.produce(pages)
    await bench.until_done()
    assert worker.stop() == 0
    assert PASSWORD not in worker.log.read_text()
    read = await asyncio.to_thread(documents, bench.topics.output, login)
    assert {*read} == {page.key.decode() for page in pages if page.key}


async def test_tokens_are_renewed_and_pages_wait_for_them(
    bench: Bench, logins: LoginKafka, site: Pages
) -> None:
    pages = site(30)
    with logins.tokens() as server:
        worker = bench.worker(*logins.oauth, "--delivery", "exactly-once", *others(bench))
        await bench.produce(pages[:10])
        await bench.until_done()
        given = server.given
        await bench.until(lambda: server.given > given + 1)
        await bench.produce(pages[10:20])
        await bench.until_done()
        read = await asyncio.to_thread(documents, bench.topics.output, logins.oauth)
        assert {*read} == {page.key.decode() for page in pages[:20] if page.key}
    await bench.until(lambda: not worker.is_ready())
    await bench.produce(pages[20:])
    with logins.tokens():
        await bench.until_done()
        await bench.until(worker.is_ready)
        read = await asyncio.to_thread(documents, bench.topics.output, logins.oauth)
        assert worker.stop() == 0
    assert {*read} == {page.key.decode() for page in pages if page.key}
    log = worker.log.read_text()
    assert PASSWORD not in log
    assert "eyJ" not in log, "a token"


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (("--sasl-password", "wrong"), 1, "refuses: .*401 .invalid_client: no such client.; check --sasl"),
        (("--sasl-oauth-scope", "all"), 1, "refuses: .*400 .invalid_scope."),
        (
            ("--sasl-oauth-token-url", "https://127.0.0.1:1/"),
            1,
            "tokens at https://127.0.0.1:1/ does not ans",
        ),
    ],
)
async def test_a_token_that_is_not_given_is_named(
    logins: LoginKafka, options: tuple[str, ...], status: int, message: str
) -> None:
    with logins.tokens():
        words = [DEHUSK, "read", *logins.oauth, *options]
        ended = await asyncio.to_thread(
            subprocess.run, words, capture_output=True, text=True, timeout=120, check=False
        )
    assert ended.returncode == status
    assert re.search(message, ended.stderr), ended.stderr
    assert "Traceback" not in ended.stderr
    assert PASSWORD not in ended.stderr


async def test_a_listener_that_asks_for_a_certificate_refuses_a_client_without(logins: LoginKafka) -> None:
    words = [DEHUSK, "read", *logins.mutual[:-4]]
    ended = await asyncio.to_thread(
        subprocess.run, words, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 1
    assert "--tls-certificate-file" in ended.stderr
