"""Reports of a worker on its versions."""

import asyncio
import time

import pytest
from aiokafka.errors import KafkaError, KafkaTimeoutError, TopicAuthorizationFailedError
from prometheus_client import CollectorRegistry

from dehusk.schemas.pages import Message, ModelVersion
from dehusk.schemas.rollout import Part, Scope
from dehusk.schemas.trials import Comparison, Figures, WorkerReport
from dehusk.streams.rollout.control import ControlKey
from dehusk.streams.rollout.transitions import first_state, promote, with_canary, with_shadow
from dehusk.streams.settings import ControlTopic, KafkaSettings
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.rollout.observing import Observations
from dehusk.streams.worker.rollout.opening import Reporting
from dehusk.streams.worker.rollout.plan import Plan, Plans
from dehusk.streams.worker.rollout.steering import StateReader, Steering

SCOPE = Scope("m", "group")
KEY, STOPPED = ControlKey(SCOPE, "w1"), ControlKey(SCOPE, stopped="w1")
START = promote(first_state("7", "me"), "7", "me")
BOTH = with_shadow(with_canary(START, Part("8", 0.5), "me"), Part("9", 1.0), "me")


class Producer:
    """A producer that keeps what it is given."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, object]] = []
        self.error: Exception | None = None

    async def send(self, topic, value, key, partition, headers):
        assert topic == "control"
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if self.error is not None:
            answer.set_exception(self.error)
            return answer
        self.sent.append((key, value))
        answer.set_result(None)
        return answer


async def never(*_given: object) -> None:
    """Open no version, and change no state."""
    raise AssertionError


class Worker:
    def __init__(self, plan: Plan) -> None:
        self.producer, self.observations = Producer(), Observations()
        self.metrics = Metrics(CollectorRegistry(), ())
        self.reader = StateReader(KafkaSettings(), "control", SCOPE)
        self.steering = Steering(
            self.reader,
            Plans(plan),
            never,
            never,
            "w1",
            self.observations,
            self.metrics,
        )
        self.steering.revision, self.steering.refused = 3, {"6": "gone"}
        self.reporting = Reporting(
            self.producer, ControlTopic(KafkaSettings(), "control"), self.reader, self.steering
        )

    async def until_sent(self, count: int) -> None:
        while len(self.producer.sent) < count:  # noqa: ASYNC110 nobody sets an event
            await asyncio.sleep(0)


@pytest.fixture
def worker(models) -> Worker:
    parts = {"canary": models["8"].opened(), "shadow": models["9"].opened()}
    return Worker(Plan(models["7"].opened(), BOTH, **parts))


def test_a_report_has_what_is_labeled_with_and_seen(worker: Worker) -> None:
    worker.observations.figures.add("8", Figures(pages=3))
    worker.observations.shadow.comparison = Comparison(blocks=5)
    worker.observations.comparing["canary"].comparison = Comparison(blocks=6)
    figures, shadow, trials = {"8": Figures(pages=3)}, Comparison(blocks=5), {"canary": Comparison(blocks=6)}
    assert worker.steering.report() == WorkerReport(
        "w1", 3, "7", "8", "9", {"6": "gone"}, figures, shadow, trials
    )


def test_where_the_labeler_chooses_the_version_of_the_last_document_is_told(models) -> None:
    models["7"].version = ""
    worker = Worker(Plan(models["7"].opened()))
    assert (worker.steering.report().serving, worker.steering.report().comparison) == ("", None)
    worker.metrics.model = ModelVersion("m", "12")
    assert worker.steering.report().serving == "12"


async def test_a_change_is_reported_at_once_and_the_end_withdraws(worker: Worker) -> None:
    running = asyncio.create_task(worker.reporting.run())
    await worker.until_sent(1)
    worker.steering.revision = 4
    worker.steering.adopted.set()
    await worker.until_sent(2)
    running.cancel()
    await worker.reporting.withdraw()
    values = [value for key, value in worker.producer.sent if key == KEY.encode()]
    revisions = [WorkerReport.decode(value).revision for value in values if isinstance(value, bytes)]
    assert (revisions, len(values)) == ([3, 4], 3)
    (key, value), last = worker.producer.sent[-2:]
    assert (key, WorkerReport.decode(value)) == (STOPPED.encode(), worker.steering.report())
    assert last[0] == KEY.encode(), "what was seen is there first"


async def test_a_worker_without_a_version_on_trial_leaves_nothing(models) -> None:
    worker = Worker(Plan(models["7"].opened(), START))
    await worker.reporting.withdraw()
    assert [key for key, _ in worker.producer.sent] == [KEY.encode()]


async def test_what_killed_workers_left_is_removed(worker: Worker) -> None:
    now, report = int(1000 * time.time()), WorkerReport("w", 1, "7").encode()
    left, other, alive = (
        ControlKey(SCOPE, "w2"),
        ControlKey(Scope("m", "other"), "w3"),
        ControlKey(SCOPE, "w4"),
    )
    for key, at in ((left, now - 7_200_000), (other, now - 7_200_000), (alive, now)):
        worker.reader.following._handle(Message(key.encode(), report), at)
    running = asyncio.create_task(worker.reporting.run())
    await worker.until_sent(2)
    running.cancel()
    assert [key for key, _ in worker.producer.sent] == [left.encode(), KEY.encode()]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KafkaTimeoutError(), "KafkaTimeoutError"),
        (
            TopicAuthorizationFailedError("control"),
            "lacks Write on topic control; an administrator grants it",
        ),
    ],
)
async def test_reports_that_kafka_does_not_take_are_a_line_in_the_log(
    worker: Worker, error: KafkaError, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    worker.producer.error = error
    for _ in range(3):
        await worker.reporting.withdraw()
    assert caplog.text.count("sending to topic control is unavailable") == 1
    assert reason in worker.reporting.dependency.reason
    worker.producer.error = None
    await worker.reporting.withdraw()
    assert not worker.reporting.dependency.unavailable
