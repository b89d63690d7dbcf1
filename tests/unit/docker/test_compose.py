"""The compose files, checked as far as that goes without an engine."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dehusk.streams.cli.worker import command as worker
from dehusk.streams.kafka.client import Topic, WorkerTopics, missing_topics
from dehusk.streams.settings import CONTROL_TOPIC, MONITORING_TOPIC, TopicSettings

DOCKER = Path(__file__).parents[3] / "docker"
SERVICE_KEYS = {
    *("image", "build", "command", "entrypoint", "environment", "hostname", "init", "volumes", "ports"),
    *("depends_on", "healthcheck", "restart", "stop_grace_period", "deploy"),
}
HEALTHCHECK_KEYS = {"test", "interval", "timeout", "retries", "start_period"}


class Override(yaml.SafeLoader):
    """Reads compose's own tags: what they say is done by `merge`."""


class Reset:
    """The value of `!reset`: what it stands for is removed."""


class Replacement(dict):
    """The value of `!override`: it takes the place of what was there."""


Override.add_constructor("!reset", lambda loader, node: Reset())
Override.add_constructor(
    "!override", lambda loader, node: Replacement(loader.construct_mapping(node, deep=True))
)


def read(name: str) -> dict[str, Any]:
    return yaml.load((DOCKER / name).read_text(), Override)


def merge(base: Any, over: Any) -> Any:
    """Merge two files as compose does: maps are merged, commands replaced."""
    if not isinstance(base, dict) or not isinstance(over, dict) or isinstance(over, Replacement):
        return over
    merged = base | {key: merge(base.get(key), value) for key, value in over.items()}
    return {key: value for key, value in merged.items() if not isinstance(value, Reset)}


TRITON = read("compose.yaml")
GPU = merge(TRITON, read("compose.gpu.yaml"))
ONNX = merge(TRITON, read("compose.onnx.yaml"))
BOTH = pytest.mark.parametrize("compose", [GPU, ONNX], ids=["gpu", "onnx"])
SERVICES = pytest.mark.parametrize(
    ("compose", "name"),
    [(compose, name) for compose in (GPU, ONNX) for name in compose["services"]],
    ids=lambda value: value if isinstance(value, str) else "",
)


@SERVICES
def test_services_say_only_what_compose_knows(compose: dict[str, Any], name: str) -> None:
    service = compose["services"][name]
    assert set(service) <= SERVICE_KEYS
    assert set(service.get("healthcheck", {})) <= HEALTHCHECK_KEYS
    assert "image" in service


@SERVICES
def test_services_wait_for_services_that_can_become_ready(compose: dict[str, Any], name: str) -> None:
    awaited = compose["services"][name].get("depends_on", {})
    for other, wait in awaited.items() if isinstance(awaited, dict) else [(other, {}) for other in awaited]:
        assert other in compose["services"]
        if wait.get("condition") == "service_healthy":
            assert "healthcheck" in compose["services"][other]
        if wait.get("condition") == "service_completed_successfully":
            assert compose["services"][other].get("restart") == "on-failure"


@SERVICES
def test_volumes_are_declared_or_files_of_the_project(compose: dict[str, Any], name: str) -> None:
    for volume in compose["services"][name].get("volumes", ()):
        source, target, *mode = volume.split(":")
        assert target.startswith("/")
        if source.startswith("."):
            assert (DOCKER / source).resolve().exists()
            assert mode == ["ro"]
        else:
            assert source in compose["volumes"]


@SERVICES
def test_ports_are_published_on_loopback_alone(compose: dict[str, Any], name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in compose["services"][name].get("ports", ()))


@SERVICES
def test_images_are_pinned_and_name_no_host(compose: dict[str, Any], name: str) -> None:
    service = compose["services"][name]
    if name == "triton":
        assert service["image"] == "${TRITON_IMAGE-}"
        return
    repository, _, tag = service["image"].partition(":")
    assert "." not in repository
    assert tag or "build" in service
    assert tag != "latest"


@BOTH
def test_the_worker_understands_its_command(compose: dict[str, Any]) -> None:
    name, *options = compose["services"]["worker"]["command"]
    read = worker.make_context("worker", options).params
    assert name == "worker"
    addresses = [read["brokers"], read["redis"].removeprefix("redis://")]
    addresses += [read["triton"]] if read["labeler"] == "triton" else []
    assert {address.partition(":")[0] for address in addresses} <= set(compose["services"])
    assert read["monitoring"] == "0.0.0.0:8080"
    assert read["monitoring_topic"] == MONITORING_TOPIC
    assert read["control_topic"] == CONTROL_TOPIC


@BOTH
def test_versions_are_rolled_out_in_the_repository_of_the_checkout(compose: dict[str, Any]) -> None:
    """The commands run beside the containers, where Kafka and Triton have the addresses of their defaults."""
    services = compose["services"]
    reader = services.get("triton", services["worker"])
    assert "../model_repository:/models:ro" in reader["volumes"]
    assert any(word.endswith("model-repository=/models") for word in reader["command"])
    assert "127.0.0.1:9092:9092" in services["kafka"]["ports"]
    assert "triton" not in services or services["triton"]["ports"] == ["127.0.0.1:8001:8001"]


@BOTH
def test_pages_without_a_token_are_reached_in_the_network_of_the_services_alone(
    compose: dict[str, Any],
) -> None:
    service = compose["services"]["worker"]
    read = worker.make_context("worker", service["command"][1:]).params
    assert read["monitoring_token"] is None
    assert "ports" not in service
    assert "network_mode" not in service


def test_the_worker_has_time_to_finish() -> None:
    grace = worker.make_context("worker", []).params["grace_seconds"]
    assert float(GPU["services"]["worker"]["stop_grace_period"].removesuffix("s")) > grace


def test_the_topics_are_the_worker_s() -> None:
    params = worker.make_context("worker", []).params
    (script,) = GPU["services"]["topics"]["command"]
    created = {line.split()[1] for line in script.splitlines() if line.startswith("create ")}
    own = {params["input_topic"], params["output"], params["dead_letters"]}
    assert created == {*own, MONITORING_TOPIC, CONTROL_TOPIC}


@pytest.mark.parametrize("name", [MONITORING_TOPIC, CONTROL_TOPIC])
def test_the_topics_of_all_workers_are_as_a_local_stack_has_them(name: str) -> None:
    (script,) = GPU["services"]["topics"]["command"]
    (line,) = (line for line in script.splitlines() if line.startswith(f"create {name} "))
    inputs = WorkerTopics((Topic("in", 8, 1),), {})
    wanted = missing_topics(TopicSettings("in", monitoring=MONITORING_TOPIC, control=CONTROL_TOPIC), inputs)
    topic = next(each for each in wanted if each.name == name)
    settings = [f"--config {name}={value}" for name, value in topic.settings.items()]
    assert line.split(maxsplit=2)[2] == " ".join([f"--partitions {topic.partitions}", *settings])


def test_a_gpu_is_reserved_where_it_is_asked_for() -> None:
    assert "deploy" not in TRITON["services"]["triton"]
    (device,) = GPU["services"]["triton"]["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": 1, "capabilities": ["gpu"]}
    assert GPU["services"]["triton"]["command"] == TRITON["services"]["triton"]["command"]


def test_the_model_runs_without_triton() -> None:
    assert "triton" not in ONNX["services"]
    assert "--labeler=onnx" in ONNX["services"]["worker"]["command"]
