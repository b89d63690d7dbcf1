"""The alerts, as Prometheus' own tool tries them."""

import subprocess
from pathlib import Path

import pytest

RULES = Path(__file__).parents[2] / "docker/prometheus"


@pytest.mark.parametrize(
    "words",
    [("check", "config", "prometheus.yml"), ("test", "rules", "alerts.test.yml")],
    ids=["configuration", "alerts"],
)
def test_prometheus_takes_the_configuration_and_the_alerts_fire(
    prometheus: Path, words: tuple[str, ...]
) -> None:
    ended = subprocess.run(
        [prometheus / "promtool", *words], cwd=RULES, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "SUCCESS" in ended.stdout + ended.stderr
