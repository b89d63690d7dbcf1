"""Configuration of Prometheus and Grafana, against the metrics that a worker has."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from dehusk.streams.worker.input.lag import Backlog
from dehusk.streams.worker.monitoring.metrics import Metrics

DOCKER = Path(__file__).parents[3] / "docker"
FILES = sorted((DOCKER / "grafana/dashboards").glob("*.json"))
DASHBOARDS = [json.loads(file.read_text()) for file in FILES]
PANELS = [panel for dashboard in DASHBOARDS for panel in dashboard["panels"] if panel["type"] != "row"]
each_dashboard = pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda each: each["title"])


def read(name: str) -> dict[str, Any]:
    return yaml.load((DOCKER / name).read_text(), yaml.SafeLoader)


COMPOSE = read("compose.yaml")
DATASOURCES = read("grafana/provisioning/datasources/prometheus.yaml")
PROVIDERS = read("grafana/provisioning/dashboards/dehusk.yaml")


def exported() -> set[str]:
    """The names under which Prometheus knows the worker's metrics."""
    registry = CollectorRegistry()
    Metrics(registry, []).watch(int, Backlog)
    names = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
    return {family.name + ending for family in registry.collect() for ending in names[family.type]}


def shown() -> set[str]:
    queries = [target["expr"] for panel in PANELS for target in panel["targets"]]
    return {name for query in queries for name in re.findall(r"dehusk_\w+", query)}


def rules() -> list[dict[str, Any]]:
    (group,) = read("prometheus/alerts.yml")["groups"]
    return group["rules"]


def test_every_metric_of_an_alert_is_exported() -> None:
    asked = {name for rule in rules() for name in re.findall(r"dehusk_\w+", rule["expr"])}
    assert asked <= exported()
    assert len(asked) > 8


def test_every_alert_is_tried() -> None:
    tried = {
        tried["alertname"]
        for test in read("prometheus/alerts.test.yml")["tests"]
        for tried in test["alert_rule_test"]
        if tried.get("exp_alerts")
    }
    assert tried == {rule["alert"] for rule in rules() if "alert" in rule}


def test_every_metric_that_is_shown_is_exported() -> None:
    assert shown() <= exported()
    assert len(shown()) > 8


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_panel_asks_the_chosen_source_of_the_chosen_instances(panel: dict[str, Any]) -> None:
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    for target in panel["targets"]:
        selectors = re.findall(r"\b(?:dehusk|nv|process)_\w+(\{[^}]*\})?", target["expr"])
        assert set(selectors) == {'{job=~"$job", instance=~"$instance"}'}


@each_dashboard
def test_the_first_source_of_prometheus_is_chosen(dashboard: dict[str, Any]) -> None:
    (provisioned,) = DATASOURCES["datasources"]
    (source,) = [each for each in dashboard["templating"]["list"] if each["type"] == "datasource"]
    assert (source["name"], source["query"]) == ("datasource", provisioned["type"])


@each_dashboard
def test_panels_do_not_overlap(dashboard: dict[str, Any]) -> None:
    taken = [
        (x, y)
        for panel in dashboard["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24


def test_grafana_finds_prometheus_and_the_dashboard() -> None:
    grafana = COMPOSE["services"]["grafana"]
    mounted = {volume.split(":")[1]: DOCKER / volume.split(":")[0] for volume in grafana["volumes"]}
    (provider,) = PROVIDERS["providers"]
    folder = mounted[provider["options"]["path"]]
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (folder / Path(home).name).is_file()
    assert DATASOURCES["datasources"][0]["url"] == "http://prometheus:9090"
    assert "prometheus" in COMPOSE["services"]


def test_prometheus_scrapes_services_that_there_are() -> None:
    jobs = read("prometheus/prometheus.yml")["scrape_configs"]
    names = {name for job in jobs for discovery in job["dns_sd_configs"] for name in discovery["names"]}
    assert names == {"worker", "triton"}
    assert names <= set(COMPOSE["services"])
