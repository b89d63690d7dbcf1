"""The local stack itself, and `dehusk up`, on the real services."""

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import orjson
import psutil
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import UnknownTopicOrPartitionError

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.streams.kafka.client import describe_topics
from dehusk.streams.local.folder import temporary_folder
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import MIB, KafkaSettings, TopicSettings
from tests.commands import DEHUSK
from tests.settling import left_running

SECONDS = 60


async def send(brokers: str, topic: str, value: bytes) -> None:
    options = {"bootstrap_servers": brokers, "max_request_size": 64 * MIB, "acks": "all"}
    async with AIOKafkaProducer(**options) as producer:
        await producer.send_and_wait(topic, value, partition=0)


async def stored(brokers: str, topic: str) -> int:
    """Count the messages in the topic's first partition."""
    partition = TopicPartition(topic, 0)
    async with AIOKafkaConsumer(bootstrap_servers=brokers) as consumer:
        ends: dict[TopicPartition, int] = await consumer.end_offsets([partition])
    return ends[partition]


async def test_kafka_takes_pages_of_many_megabytes(kafka: KafkaSettings, topics: TopicSettings) -> None:
    await send(kafka.brokers, topics.input, bytes(50 * MIB))
    assert await stored(kafka.brokers, topics.input) == 1


async def test_kafka_creates_no_topic_that_is_only_asked_for(admin: AIOKafkaAdminClient, fresh: str) -> None:
    (answer,) = await admin.describe_topics([fresh])
    assert answer["error_code"] == UnknownTopicOrPartitionError.errno
    assert fresh not in await admin.list_topics()


def test_triton_serves_every_model_of_the_repository(stack: LocalStack) -> None:
    models = [file.parent.name for file in DEFAULT_REPOSITORY.glob("*/config.pbtxt")]
    assert models
    for model in models:
        with urlopen(f"http://{stack.addresses.triton_http}/v2/models/{model}/ready") as answer:
            assert answer.status == 200


def test_triton_counts_inferences_per_model(stack: LocalStack) -> None:
    served, _ = find_model(DEFAULT_REPOSITORY, "boilernet")
    with urlopen(stack.triton_metrics) as answer:
        line = f'nv_inference_count{{model="{served.name}",version="{served.version}"}}'
        assert line in answer.read().decode()


def test_a_model_that_is_unloaded_is_not_lost(stack: LocalStack) -> None:
    for action in ("unload", "load"):
        model = f"http://{stack.addresses.triton_http}/v2/repository/models/boilernet-cleaneval/{action}"
        with urlopen(Request(model, method="POST")) as answer:
            assert answer.status == 200
        assert stack.failures() == {}


@pytest.mark.parametrize("name", ["redis", "triton"])
def test_a_killed_service_comes_back_at_its_address(stack: LocalStack, name: str) -> None:
    before = stack.addresses
    stack.services[name].kill()
    assert not stack.services[name].running
    stack.services[name].start()
    assert stack.addresses == before
    assert stack.failures() == {}


async def test_kafka_keeps_its_messages_when_it_is_killed(
    stack: LocalStack, kafka: KafkaSettings, topics: TopicSettings
) -> None:
    await send(kafka.brokers, topics.input, b"before")
    before = stack.addresses
    stack.services["kafka-1"].kill()
    assert not stack.services["kafka-1"].running
    stack.services["kafka-1"].start()
    assert stack.addresses == before
    assert stack.failures() == {}
    assert await stored(kafka.brokers, topics.input) == 1


@contextmanager
def up(*options: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, str]]]:
    """A running `dehusk up --json` and its addresses."""
    command = [DEHUSK, "up", "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield process, orjson.loads(process.stdout.readline())
        finally:
            process.kill()


def processes_below(process: subprocess.Popen[bytes]) -> dict[str, psutil.Process]:
    """The processes that it started, and that these did, by name."""
    return {each.name(): each for each in psutil.Process(process.pid).children(recursive=True)}


def have_ended(processes: dict[str, psutil.Process]) -> bool:
    return not left_running(processes.values(), SECONDS)


def test_up_stops_cleanly_and_removes_its_folder() -> None:
    with up() as (process, addresses):
        assert list(addresses) == ["kafka", "redis", "triton_grpc", "triton_http", "directory"]
        below = processes_below(process)
        assert {"java", "redis-server", "tritonserver"} <= set(below)
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0
        assert rest == b""
        assert have_ended(below)
        assert not Path(addresses["directory"]).exists()


def test_up_kills_when_it_is_interrupted_twice() -> None:
    with up() as (process, addresses):
        below = processes_below(process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while b"Stopping" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=SECONDS)
        assert process.returncode == 130, messages
        assert have_ended(below)
        assert not Path(addresses["directory"]).exists()


def test_up_leaves_no_process_when_it_is_killed_and_its_folder_only_to_the_next_stack() -> None:
    with up() as (process, addresses):
        below = processes_below(process)
        assert {"java", "redis-server", "tritonserver"} <= set(below)
        process.kill()
        assert have_ended(below)
    assert Path(addresses["directory"]).exists()
    with temporary_folder():
        assert not Path(addresses["directory"]).exists()


def test_up_leaves_no_process_when_it_is_interrupted_at_its_start(tmp_path: Path) -> None:
    command = [DEHUSK, "up", "--keep", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while "java" not in (below := processes_below(process)):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
        assert process.returncode == 130
        assert have_ended(below)


async def test_up_keeps_topics_messages_and_addresses(tmp_path: Path) -> None:
    options = ("--without-triton", "--keep", str(tmp_path))
    with up(*options) as (process, addresses):
        found = await describe_topics(
            KafkaSettings(addresses["kafka"]), ["raw-pages", "cleaned-documents", "dead-letters"]
        )
        assert found["cleaned-documents"].settings["cleanup.policy"] == "compact"
        assert len(found) == 3
        await send(addresses["kafka"], "raw-pages", b"kept")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
    with up(*options) as (_, again):
        assert again == addresses
        assert await stored(addresses["kafka"], "raw-pages") == 1


def errors_until(process: subprocess.Popen[bytes], text: bytes) -> list[bytes]:
    """The lines of standard error, up to the one that says this."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if text in line:
            return lines
    pytest.fail(f"it ended and never said {text!r}: {lines}")


DEAD_MODEL = b"the process of a model died"
DEAD_SERVER = rb"(it ended with status 139 \(SIGSEGV\)|%b)" % DEAD_MODEL


def test_up_starts_services_again_that_end_and_says_so(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>A paragraph of prose, which is the whole of its page.")
    with up() as (process, addresses):
        java = processes_below(process)["java"]
        check_redis_comes_back(process, int(addresses["redis"].removesuffix("/0").rpartition(":")[2]))
        for name, argument, how in (
            ("triton_python_backend_stub", "/model_repository/dehusk/", DEAD_MODEL),
            ("tritonserver", "--load-model=dehusk", DEAD_SERVER),
        ):
            below = psutil.Process(process.pid).children(recursive=True)
            victim = next(
                each for each in below if each.name() == name and argument in " ".join(each.cmdline())
            )
            victim.send_signal(signal.SIGSEGV)
            said = b"".join(errors_until(process, b"triton is ready again, at the same address"))
            assert re.search(b"triton failed: " + how, said)  # with the server, its models' processes die
            command = [DEHUSK, "clean", "--triton", addresses["triton_grpc"], page]
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
        assert java.is_running()


def check_redis_comes_back(process: subprocess.Popen[bytes], port: int) -> None:
    """Kill the Redis of a stack, and check that it is started again at this port, with its data."""
    with socket.create_connection(("127.0.0.1", port)) as redis:
        redis.sendall(b"SET key kept\r\n")
        assert redis.recv(64) == b"+OK\r\n"
    processes_below(process)["redis-server"].kill()
    said = b"".join(errors_until(process, b"redis is ready again, at the same address"))
    assert b"redis failed: it ended with status 137 (SIGKILL). It is started again now" in said
    with socket.create_connection(("127.0.0.1", port)) as redis:
        redis.sendall(b"GET key\r\n")
        assert redis.recv(64) == b"$4\r\nkept\r\n"


def test_up_says_why_a_service_does_not_start(tmp_path: Path) -> None:
    broken = tmp_path / "repository" / "broken"
    (broken / "1").mkdir(parents=True)
    (broken / "1" / "model.onnx").write_bytes(b"no model")
    (broken / "config.pbtxt").write_text('name: "broken"\nbackend: "onnxruntime"\nmax_batch_size: 8\n')
    command = [DEHUSK, "up", "--model-repository", str(broken.parent)]
    ended = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    assert ended.returncode == 1
    assert b"dehusk: triton ended at its start" in ended.stderr
    assert b"failed to load 'broken' version 1" in ended.stderr
