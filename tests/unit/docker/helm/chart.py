"""Output of Helm for the chart."""

import json
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from tests.unit.docker.helm.fetched import helm_library

ON_LINUX = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="Helm's library is one for Linux on x86-64",
)
CHART = Path(__file__).parents[4] / "docker/helm"
OLDEST, NEWEST = "1.29.0", "1.37.0"
"""Versions of Kubernetes: the oldest that the chart takes, and one of late 2026."""
Values = dict[str, Any]
Document = dict[str, Any]

SASL: Values = {
    "brokers": "kafka.kafka.svc:9093",
    "securityProtocol": "SASL_SSL",
    "sasl": {"mechanism": "SCRAM-SHA-512", "username": "crawl", "existingSecret": "kafka-user"},
    "tls": {"existingSecret": "kafka-tls", "certificateKey": "tls.crt", "keyKey": "tls.key"},
}
TOKENS: Values = {
    "securityProtocol": "SASL_SSL",
    "sasl": {
        "mechanism": "OAUTHBEARER",
        "username": "crawl",
        "existingSecret": "kafka-client",
        "oauth": {"tokenUrl": "https://login.example/token", "scope": "pages", "audience": "kafka"},
    },
}
TRITON: Values = {"enabled": True, "image": {"repository": "triton", "tag": "24.10-py3"}}
EVERYTHING: Values = {
    "image": {"repository": "registry.example/dehusk", "tag": "2026-11"},
    "imagePullSecrets": [{"name": "registry"}],
    "kafka": SASL,
    "topics": {"input": "news, shops", "audit": "audit", "unsure": "unsure", "monitoring": "figures"},
    "redis": {"existingSecret": "redis", "cluster": True, "tls": {"existingSecret": "redis-tls"}},
    "worker": {
        "otlp": "http://collector:4318",
        "source": "json",
        "fields": ["url=page.link", "html=page.body"],
        "schemaRegistry": "http://schema-registry:8081",
        "modelVersion": 7,
        "revisitAfter": 20,
        "unsureBelow": 0.65,
        "headline": "include",
        "duplicates": "minhash",
        "favor": "recall",
        "exclude": '.ads, a[href^="https://ads."]',
        "withBlocks": True,
        "withLinks": True,
        "withMarkdown": True,
        "withHtml": True,
        "delivery": "exactly-once",
        "graceSeconds": 50.5,
        "extraArgs": ["--links=drop", "--tables=drop"],
        "env": [{"name": "DEHUSK_WORKER_IMAGES", "value": "drop"}],
        "podAnnotations": {"example.org/restarted": "1"},
        "podLabels": {"example.org/team": "crawl"},
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "batch",
        "volumes": [{"name": "warcs", "persistentVolumeClaim": {"claimName": "warcs", "readOnly": True}}],
        "volumeMounts": [{"name": "warcs", "mountPath": "/warcs", "readOnly": True}],
    },
    "triton": {**TRITON, "replicas": 2, "extraArgs": ["--log-verbose=1"], "tolerations": [{"key": "gpu"}]},
    "serviceAccount": {"annotations": {"example.org/owner": "crawl"}},
    "monitoring": {
        "existingSecret": "token",
        "labels": {"release": "prometheus"},
        "tls": {"existingSecret": "certificate"},
        "podMonitor": {"enabled": True, "tlsConfig": {"serverName": "dehusk.example.org"}},
        "prometheusRule": {"enabled": True},
        "dashboards": {"enabled": True},
    },
    "keda": {"enabled": True},
    "networkPolicy": {
        "enabled": True,
        "monitoringFrom": [
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
        ],
        "egress": [{"ports": [{"port": 9093}, {"port": 6379}]}],
    },
}
SETS: dict[str, Values] = {
    "defaults": {},
    "everything": EVERYTHING,
    "external Triton": {"triton": {"address": "triton.models.svc:8001"}},
    "Triton on a GPU, with models of one's own": {
        "triton": {**TRITON, "gpus": 1, "modelRepository": {"existingClaim": "models"}}
    },
    "no Triton": {"worker": {"labeler": "onnx"}},
    "SASL": {"kafka": SASL},
    "KEDA": {"keda": {"enabled": True}, "topics": {"input": "^crawl-"}},
    "policy": {"networkPolicy": {"enabled": True}, "triton": TRITON},
    "users by OpenShift": {
        "worker": {"podSecurityContext": {"runAsUser": None, "runAsGroup": None, "fsGroup": None}}
    },
    "all at once": {"worker": {"strategy": {"type": "Recreate", "rollingUpdate": None}}},
    "little": {
        "serviceAccount": {"create": False, "name": "default"},
        "worker": {
            "podDisruptionBudget": {"enabled": False},
            "topologySpreadConstraints": [],
            "logJson": False,
        },
    },
}


def call(function: str, **options: str | int) -> subprocess.CompletedProcess[str]:
    """Return the output of Helm's function, or the reason on standard error why it refused."""
    command = [sys.executable, Path(__file__).with_name("native.py"), helm_library(), function]
    return subprocess.run(command, input=json.dumps(options), capture_output=True, text=True, check=False)


def template(values: Values, version: str = NEWEST) -> subprocess.CompletedProcess[str]:
    """`helm template` with these values, for this version of Kubernetes."""
    return rendered("Template", yaml.safe_dump(values), version)


def notes(values: Values) -> str:
    """Return what `helm install` would say at its end."""
    only_said = {"dry_run": 1, "dry_run_option": "client", "client_only": 1}
    installed = rendered("Install", yaml.safe_dump(values), NEWEST, **only_said)
    assert installed.returncode == 0, installed.stderr
    return installed.stdout.partition("NOTES:\n")[2]


@cache
def rendered(
    function: str, values: str, version: str, **options: str | int
) -> subprocess.CompletedProcess[str]:
    """Render the chart by a function, as the release `crawl` in the namespace `pages`; once for each."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "values.yaml"
        file.write_text(values)
        release = {"name": "crawl", "namespace": "pages", "chart": str(CHART), "kube_version": version}
        return call(function, **release, values_files=str(file), **options)


def documents(values: Values, version: str = NEWEST) -> list[Document]:
    """The objects that the chart makes of these values."""
    made = template(values, version)
    assert made.returncode == 0, made.stderr
    return [document for document in yaml.load_all(made.stdout, yaml.CSafeLoader) if document]


def one(found: list[Document], kind: str, name: str) -> Document:
    """The object of this kind and name."""
    (document,) = [each for each in found if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return document


def container(deployment: Document) -> dict[str, Any]:
    """The only container of a Deployment."""
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return only
