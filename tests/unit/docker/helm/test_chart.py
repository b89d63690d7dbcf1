"""The chart, as Helm and the schemas of Kubernetes judge it."""

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from dehusk.inference.labelers.labeler import LABELERS
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.streams.sources.registry import SOURCES
from tests.unit.docker.helm.chart import (
    CHART,
    EVERYTHING,
    NEWEST,
    OLDEST,
    ON_LINUX,
    SETS,
    TOKENS,
    TRITON,
    Values,
    call,
    container,
    documents,
    notes,
    one,
    template,
)
from tests.unit.docker.helm.kubernetes import errors

pytestmark = ON_LINUX
DOCKER = CHART.parent
GUIDE = (DOCKER.parent / "docs/how-to/kubernetes.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def test_helm_has_nothing_to_object() -> None:
    linted = call("Lint", path=str(CHART), strict=1)
    assert linted.returncode == 0, linted.stderr
    assert "Failed: false" in linted.stdout


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_kubernetes_takes_what_is_rendered(values: Values, version: str) -> None:
    found = documents(values, version)
    objections = {
        f"{document['kind']} {document['metadata']['name']}": refused
        for document in found
        if (refused := errors(document, version))
    }
    assert objections == {}
    assert len(found) > 1


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", ("spec", "replica"), 1),
        ("Deployment", ("spec", "template", "spec", "containers", 0, "livenessProbe", "httpGet", "prot"), 1),
        ("NetworkPolicy", ("spec", "podSelector"), "all"),
        ("ScaledObject", ("spec", "minReplicas"), 1),
        ("TriggerAuthentication", ("spec", "env", 0, "parameter"), 1),
        ("PodMonitor", ("spec", "podMetricsEndpoints", 0, "authorisation"), {}),
        ("PrometheusRule", ("spec", "groups", 0, "rules", 0, "alerts"), ""),
    ],
)
def test_the_schemas_refuse_what_is_wrong(kind: str, path: tuple[str | int, ...], value: Any) -> None:
    document = next(each for each in documents(EVERYTHING) if each["kind"] == kind)
    assert errors(document, NEWEST) == []
    place = document
    for step in path[:-1]:
        place = place[step]  # type: ignore[index]
    place[path[-1]] = value  # type: ignore[index]
    assert errors(document, NEWEST) != []


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"workers": {}}, "workers"),
        ({"worker": {"replica": 3}}, "replica"),
        ({"kafka": {"sasl": {"user": "crawl"}}}, "user"),
        ({"triton": {"image": {"name": "triton"}}}, "name"),
        ({"worker": {"labeler": "tritan"}}, "/worker/labeler"),
        ({"worker": {"graceSeconds": "25s"}}, "/worker/graceSeconds"),
        ({"triton": {"enabled": True}}, "/triton/image/repository"),
        ({"kafka": {"securityProtocol": "SASL_SSL"}}, "/kafka/sasl/mechanism"),
        ({"serviceAccount": {"create": False}}, "/serviceAccount/name"),
    ],
)
def test_misspelt_and_missing_values_are_refused(values: Values, named: str) -> None:
    refused = template(values)
    assert refused.returncode != 0
    assert named in refused.stderr


def test_every_labeler_and_every_format_of_a_crawler_may_be_chosen() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    worker = schema["properties"]["worker"]["properties"]
    assert worker["labeler"]["enum"] == list(LABELERS)
    assert set(worker["source"]["enum"]) == set(SOURCES)


def test_the_schema_describes_every_value() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert undescribed(values, schema) == []
    assert set(schema["properties"]) == {*values, "global"}


def undescribed(values: Values, schema: dict[str, Any], place: str = "") -> list[str]:
    """The values that the schema has no word of, and the sections in which it takes any word."""
    missing = [f"{place}.{name}" for name in values if name not in schema["properties"]]
    missing += [place] if schema["additionalProperties"] is not False else []
    for name, below in schema["properties"].items():
        if isinstance(values.get(name), dict) and "properties" in below:
            missing += undescribed(values[name], below, f"{place}.{name}")
    return missing


def test_a_cluster_that_is_too_old_is_refused() -> None:
    assert "kubeVersion" in template({}, "1.28.0").stderr


def test_the_alerts_and_the_dashboards_are_those_of_docker() -> None:
    found = documents(EVERYTHING)
    rule = one(found, "PrometheusRule", "crawl-dehusk")
    assert rule["spec"] == yaml.safe_load((DOCKER / "prometheus/alerts.yml").read_text())
    dashboards = one(found, "ConfigMap", "crawl-dehusk-dashboards")["data"]
    files = sorted((DOCKER / "grafana/dashboards").glob("*.json"))
    assert sorted(dashboards) == [f"dehusk-{file.name}" for file in files]
    for file in files:
        assert json.loads(dashboards[f"dehusk-{file.name}"]) == json.loads(file.read_text())


def test_a_package_holds_the_files_that_are_linked(tmp_path: Path) -> None:
    packed = call("Package", path=str(CHART), destination=str(tmp_path))
    assert packed.returncode == 0, packed.stderr
    (archive,) = tmp_path.glob("dehusk-*.tgz")
    with tarfile.open(archive) as chart:
        member = chart.extractfile("dehusk/files/alerts.yml")
        assert member is not None
        assert member.read() == (DOCKER / "prometheus/alerts.yml").read_bytes()


def test_what_selects_pods_finds_them() -> None:
    found = documents(EVERYTHING)
    for name in ("crawl-dehusk", "crawl-dehusk-triton"):
        pod = one(found, "Deployment", name)["spec"]["template"]
        for kind in ("Service", "PodDisruptionBudget", "PodMonitor", "NetworkPolicy", "Deployment"):
            spec = one(found, kind, name)["spec"]
            selector = spec.get("podSelector") or spec["selector"]
            wanted = selector.get("matchLabels", selector)
            assert wanted.items() <= pod["metadata"]["labels"].items()
            assert wanted["app.kubernetes.io/component"] == (
                "triton" if name.endswith("triton") else "worker"
            )


def test_ports_that_are_named_exist() -> None:
    found = documents(EVERYTHING)
    for name in ("crawl-dehusk", "crawl-dehusk-triton"):
        only = container(one(found, "Deployment", name))
        ports = {port["name"] for port in only["ports"]}
        probes = [only[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
        asked = {probe["port"] for probe in probes}
        asked |= {port["targetPort"] for port in one(found, "Service", name)["spec"]["ports"]}
        asked |= {point["port"] for point in one(found, "PodMonitor", name)["spec"]["podMetricsEndpoints"]}
        rules = one(found, "NetworkPolicy", name)["spec"]["ingress"]
        assert asked | {port["port"] for rule in rules for port in rule["ports"]} <= ports


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_no_pod_has_rights_that_it_does_not_need(values: Values) -> None:
    for document in documents(values):
        if document["kind"] != "Deployment":
            continue
        pod = document["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for each in [*pod["containers"], *pod.get("initContainers", [])]:
            rights = each["securityContext"]
            assert rights["readOnlyRootFilesystem"] is True
            assert rights["allowPrivilegeEscalation"] is False
            assert rights["capabilities"] == {"drop": ["ALL"]}
            assert each["resources"]["limits"]["memory"]


def test_keda_may_set_the_number_of_workers() -> None:
    assert one(documents({}), "Deployment", "crawl-dehusk")["spec"]["replicas"] == 2
    found = documents(SETS["KEDA"])
    assert "replicas" not in one(found, "Deployment", "crawl-dehusk")["spec"]
    assert one(found, "ScaledObject", "crawl-dehusk")["spec"]["scaleTargetRef"]["name"] == "crawl-dehusk"


def test_keda_measures_the_lag_of_the_group() -> None:
    (of_pattern,) = one(documents(SETS["KEDA"]), "ScaledObject", "crawl-dehusk")["spec"]["triggers"]
    assert "topic" not in of_pattern["metadata"]
    assert "authenticationRef" not in of_pattern
    found = documents(EVERYTHING)
    triggers = one(found, "ScaledObject", "crawl-dehusk")["spec"]["triggers"]
    assert [trigger["metadata"]["topic"] for trigger in triggers] == ["news", "shops"]
    for trigger in triggers:
        one(found, "TriggerAuthentication", trigger["authenticationRef"]["name"])
        assert (trigger["metadata"]["tls"], trigger["metadata"]["sasl"]) == ("enable", "scram_sha512")


@pytest.mark.parametrize(("mechanism", "name"), [("PLAIN", "plaintext"), ("SCRAM-SHA-256", "scram_sha256")])
def test_keda_has_names_of_its_own_for_mechanisms(mechanism: str, name: str) -> None:
    sasl = {"mechanism": mechanism, "username": "crawl", "existingSecret": "user"}
    values = {"kafka": {"securityProtocol": "SASL_PLAINTEXT", "sasl": sasl}, "keda": {"enabled": True}}
    (trigger,) = one(documents(values), "ScaledObject", "crawl-dehusk")["spec"]["triggers"]
    assert trigger["metadata"]["sasl"] == name
    assert "tls" not in trigger["metadata"]


def test_keda_has_the_tokens_that_the_worker_has() -> None:
    found = documents({"kafka": TOKENS, "keda": {"enabled": True}})
    (trigger,) = one(found, "ScaledObject", "crawl-dehusk")["spec"]["triggers"]
    assert trigger["metadata"]["sasl"] == "oauthbearer"
    spec = one(found, "TriggerAuthentication", "crawl-dehusk-kafka")["spec"]
    assert {each["parameter"]: each["name"] for each in spec["env"]} == {
        "username": "DEHUSK_SASL_USERNAME",
        "oauthTokenEndpointUri": "DEHUSK_SASL_OAUTH_TOKEN_URL",
        "scopes": "DEHUSK_SASL_OAUTH_SCOPE",
    }


def test_keda_reads_the_user_that_the_worker_has() -> None:
    found = documents(EVERYTHING)
    spec = one(found, "TriggerAuthentication", "crawl-dehusk-kafka")["spec"]
    variables = {each["name"]: each for each in container(one(found, "Deployment", "crawl-dehusk"))["env"]}
    (user,) = spec["env"]
    assert (user["parameter"], variables[user["name"]]["value"]) == ("username", "crawl")
    secrets = {each["parameter"]: (each["name"], each["key"]) for each in spec["secretTargetRef"]}
    assert secrets == {
        "password": ("kafka-user", "password"),
        "ca": ("kafka-tls", "ca.crt"),
        "cert": ("kafka-tls", "tls.crt"),
        "key": ("kafka-tls", "tls.key"),
    }


def test_triton_is_given_the_model_of_the_image(tmp_path: Path) -> None:
    pod = one(documents({"triton": TRITON}), "Deployment", "crawl-dehusk-triton")["spec"]["template"]["spec"]
    (copies,) = pod["initContainers"]
    program, model = copies["args"]
    assert copies["command"] == ["python", "-c"]
    for _ in range(2):  # the second time as after a restart of the node
        subprocess.run([sys.executable, "-c", program.replace("/models", str(tmp_path)), model], check=True)
    copied = {file.relative_to(tmp_path) for file in tmp_path.rglob("*")}
    assert copied == {
        file.relative_to(DEFAULT_REPOSITORY) for file in (DEFAULT_REPOSITORY / model).rglob("*")
    } | {Path(model)}
    (serves,) = pod["containers"]
    assert "--load-model=dehusk" in serves["args"]
    assert set(serves["resources"]["limits"]) == {"memory"}


def test_triton_may_serve_a_claim_on_a_gpu() -> None:
    values = SETS["Triton on a GPU, with models of one's own"]
    pod = one(documents(values), "Deployment", "crawl-dehusk-triton")["spec"]["template"]["spec"]
    assert "initContainers" not in pod
    assert {"name": "models", "persistentVolumeClaim": {"claimName": "models"}} in pod["volumes"]
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 1


@pytest.mark.parametrize("name", ["defaults", "no Triton", "external Triton"])
def test_triton_only_runs_where_it_is_asked_for(name: str) -> None:
    kinds = [document["kind"] for document in documents(SETS[name])]
    assert kinds.count("Deployment") == 1


def test_a_token_guards_the_monitoring_pages_and_prometheus_has_it() -> None:
    found = documents(EVERYTHING)
    (endpoint,) = one(found, "PodMonitor", "crawl-dehusk")["spec"]["podMetricsEndpoints"]
    assert endpoint["authorization"]["credentials"] == {"name": "token", "key": "token"}
    assert endpoint["scheme"] == "https"
    assert endpoint["tlsConfig"] == {"serverName": "dehusk.example.org"}


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_the_notes_say_what_to_look_at_next(values: Values) -> None:
    said = notes(values)
    assert "kubectl --namespace pages logs deployment/crawl-dehusk" in said
    assert "port-forward" in said
    assert ("describe scaledobject" in said) == ("keda" in values)
    scheme = "https" if values.get("monitoring", {}).get("tls") else "http"
    assert f"in a browser at {scheme}://127.0.0.1" in said


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_in_the_documentation_are_taken(example: str) -> None:
    found = documents(yaml.safe_load(example))
    assert [refused for document in found for refused in errors(document, NEWEST)] == []
