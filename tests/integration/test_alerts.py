"""The alerts, as Prometheus' own tool tries them."""

import subprocess
from pathlib import Path

import pytest

from dehusk.streams.demo.sites import _fetch

RULES = Path(__file__).parents[2] / "docker/prometheus"


@pytest.fixture(scope="module")
def promtool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tool of Debian's package, which is not installed."""
    folder = tmp_path_factory.mktemp("prometheus")
    _fetch(["prometheus"], folder / "unpacked", folder / "apt")
    return folder / "unpacked/usr/bin/promtool"


@pytest.mark.parametrize(
    "words",
    [("check", "config", "prometheus.yml"), ("test", "rules", "alerts.test.yml")],
    ids=["configuration", "alerts"],
)
def test_prometheus_takes_the_configuration_and_the_alerts_fire(
    promtool: Path, words: tuple[str, ...]
) -> None:
    ended = subprocess.run([promtool, *words], cwd=RULES, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "SUCCESS" in ended.stdout + ended.stderr
