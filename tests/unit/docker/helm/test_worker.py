"""Settings that the chart gives the worker, as the worker's own command line reads them."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import click
import pytest

from dehusk.schemas.documents import HeadlineTreatment
from dehusk.schemas.options import Duplicates, Favor
from dehusk.streams.cli import cli
from dehusk.streams.cli.shared.configuration import warn_of_unknown_variables
from dehusk.streams.settings import Guarantee
from tests.unit.docker.helm.chart import (
    EVERYTHING,
    ON_LINUX,
    SETS,
    TOKENS,
    TRITON,
    Document,
    Values,
    container,
    documents,
    one,
)

pytestmark = ON_LINUX
MOUNTED = Path("/etc/dehusk")
SECRETS = {
    "DEHUSK_SASL_PASSWORD": "secret",
    "DEHUSK_REDIS": "rediss://:secret@redis:6379/0",
    "DEHUSK_MONITORING_TOKEN": "0123456789abcdef",
}
Read = Callable[[Values], dict[str, Any]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads the worker's options as in its container, of which the Secrets are in a folder of this test."""

    def options(values: Values) -> dict[str, Any]:
        only = container(workers(values))
        for variable in only["env"]:
            value = variable.get("value") or SECRETS[variable["name"]]
            monkeypatch.setenv(variable["name"], _file(value, tmp_path))
        name, *arguments = only["args"]
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        return command.make_context(name, list(arguments)).params

    return options


def _file(value: str, folder: Path) -> str:
    """The value, or where it names a file of a Secret, one that exists."""
    if not value.startswith(f"{MOUNTED}/"):
        return value
    file = folder / Path(value).relative_to(MOUNTED)
    file.parent.mkdir(exist_ok=True)
    file.touch()
    return str(file)


def workers(values: Values) -> Document:
    return one(documents(values), "Deployment", "crawl-dehusk")


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_the_worker_understands_its_options(
    values: Values, read: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    options = read(values)
    assert options["monitoring"] == "0.0.0.0:8080"
    warn_of_unknown_variables(cli, cli)
    assert capsys.readouterr().err == ""


def test_the_defaults_are_the_worker_s(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    command = cli.get_command(click.Context(cli), "worker")
    assert command is not None
    defaults = command.make_context("worker", []).params
    others = {name: value for name, value in read({}).items() if value != defaults[name]}
    assert others == {
        "brokers": "kafka:9092",
        "redis": "redis://redis:6379/0",
        "triton": "triton:8001",
        "processes": 4,
        "monitoring": "0.0.0.0:8080",
        "log_json": True,
    }


def test_every_value_reaches_the_worker(read: Read) -> None:
    options = read(EVERYTHING)
    wanted = {
        "brokers": "kafka.kafka.svc:9093",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": "crawl",
        "sasl_password": "secret",
        "input_topic": "news, shops",
        "audit_topic": "audit",
        "unsure_topic": "unsure",
        "unsure_below": 0.65,
        "monitoring_topic": "figures",
        "redis": "rediss://:secret@redis:6379/0",
        "redis_cluster": True,
        "redis_certificate_file": None,
        "source": "json",
        "field": ("url=page.link", "html=page.body"),
        "schema_registry": "http://schema-registry:8081",
        "triton": "crawl-dehusk-triton:8001",
        "model_version": "7",
        "revisit_after": 20,
        "headline": HeadlineTreatment.INCLUDE,
        "duplicates": Duplicates.MINHASH,
        "favor": Favor.RECALL,
        "exclude": '.ads, a[href^="https://ads."]',
        "markdown": True,
        "html": True,
        "with_blocks": True,
        "with_links": True,
        "delivery": Guarantee.EXACTLY_ONCE,
        "grace_seconds": 50.5,
        "links": False,
        "images": False,
        "tables": False,
        "monitoring_token": "0123456789abcdef",
        "otlp": "http://collector:4318",
    }
    assert {name: options[name] for name in wanted} == wanted
    files = {
        name: Path(str(options[name])).name for name in options if name.endswith("_file") and options[name]
    }
    assert files == {
        "tls_ca_file": "ca.crt",
        "tls_certificate_file": "tls.crt",
        "tls_key_file": "tls.key",
        "redis_ca_file": "ca.crt",
        "monitoring_certificate_file": "tls.crt",
        "monitoring_key_file": "tls.key",
    }


def test_the_server_of_tokens_reaches_the_worker(read: Read) -> None:
    options = read({"kafka": TOKENS})
    assert {name: options[name] for name in options if name.startswith("sasl_oauth")} == {
        "sasl_oauth_token_url": "https://login.example/token",
        "sasl_oauth_scope": "pages",
        "sasl_oauth_audience": "kafka",
        "sasl_oauth_ca_file": None,
        "sasl_oauth_extension": (),
    }


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_kubernetes_waits_longer_than_the_worker_may_take_to_stop(values: Values, read: Read) -> None:
    pod = workers(values)["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] >= read(values)["grace_seconds"] + 10


def test_the_worker_starts_once_triton_serves_the_model() -> None:
    (waits,) = workers({"triton": TRITON})["spec"]["template"]["spec"]["initContainers"]
    program, address = waits["args"]
    assert address == "http://crawl-dehusk-triton:8000/v2/models/dehusk/ready"
    with serving(404, 503, 200) as server:
        own = address.replace("crawl-dehusk-triton:8000", f"127.0.0.1:{server.server_port}")
        quick = program.replace("time.sleep(2)", "time.sleep(0)")
        ran = subprocess.run(
            [sys.executable, "-c", quick, own], capture_output=True, text=True, check=True, timeout=60
        )
    assert re.findall(r"Error (\d+)", ran.stdout) == ["404", "503"]


@contextmanager
def serving(*statuses: int) -> Iterator[HTTPServer]:
    """A server that answers with one status after the other."""
    left = list(statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(left.pop(0))
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "values",
    [{}, {"triton": TRITON, "worker": {"whenTritonIsUnavailable": "rules"}}],
    ids=["Triton of one's own", "rules meanwhile"],
)
def test_the_worker_waits_for_no_other_triton(values: Values) -> None:
    assert "initContainers" not in workers(values)["spec"]["template"]["spec"]


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_what_is_secret_stands_in_no_object(values: Values) -> None:
    only = container(workers(values))
    assert not re.search("password|token|redis", " ".join(only["args"]))
    for variable in only["env"]:
        if variable["name"] in ("DEHUSK_SASL_PASSWORD", "DEHUSK_MONITORING_TOKEN"):
            assert set(variable["valueFrom"]["secretKeyRef"]) == {"name", "key"}


def test_files_of_secrets_are_mounted_where_options_look_for_them() -> None:
    pod = workers(EVERYTHING)["spec"]["template"]["spec"]
    (only,) = pod["containers"]
    volumes = {volume["name"]: volume.get("secret", {}).get("secretName") for volume in pod["volumes"]}
    mounted = {mount["mountPath"]: volumes[mount["name"]] for mount in only["volumeMounts"]}
    asked = {str(Path(each["value"]).parent) for each in only["env"] if each["name"].endswith("_FILE")}
    assert {mounted[folder] for folder in asked} == {"kafka-tls", "redis-tls", "certificate"}


def test_the_probes_ask_pages_that_need_no_token() -> None:
    only = container(workers({}))
    paths = {kind: only[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")}
    assert paths == {"startup": "/livez", "liveness": "/livez", "readiness": "/readyz"}


@pytest.mark.parametrize(("values", "scheme"), [({}, "HTTP"), (EVERYTHING, "HTTPS")], ids=["HTTP", "HTTPS"])
def test_probes_ask_by_the_scheme_of_the_pages(values: Values, scheme: str) -> None:
    only = container(workers(values))
    for kind in ("startup", "liveness", "readiness"):
        assert only[f"{kind}Probe"]["httpGet"]["scheme"] == scheme


def test_a_rollout_never_has_more_workers_than_partitions() -> None:
    spec = workers({})["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_services_give_the_worker_no_variables_that_look_like_options() -> None:
    assert workers({})["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_workers_follow_the_control_topic(read: Read) -> None:
    assert read({"topics": {"control": "control"}})["control_topic"] == "control"
