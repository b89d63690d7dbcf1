"""The queries of Grafana's dashboards, answered by a real Prometheus that scrapes a worker and Triton."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from dehusk.streams.local.folder import free_ports
from dehusk.streams.sources.source import Record
from tests.integration.worker.conftest import Bench

DASHBOARDS = Path(__file__).parents[3] / "docker/grafana/dashboards"
WITHOUT_ANSWER = {"nv_gpu_utilization", "nv_gpu_memory_used_bytes"}
"""Metrics that there are only with a device which this test lacks."""
VARIABLES = {"$job": ".+", "$instance": ".+", "$__rate_interval": "20s", "$__range": "1m"}


def queries() -> set[str]:
    """Every query, with the values of its variables."""
    texts = [
        target["expr"]
        for file in DASHBOARDS.glob("*.json")
        for panel in json.loads(file.read_text())["panels"]
        for target in panel.get("targets", [])
    ]
    return {re.sub(r"\$\w+", lambda name: VARIABLES[name[0]], text) for text in texts}


@contextmanager
def scraping(program: Path, folder: Path, targets: dict[str, str]) -> Iterator[Callable[[str], list[object]]]:
    """Return the answers of a Prometheus that scrapes the targets, `host:port` by their jobs."""
    jobs = [{"job_name": job, "static_configs": [{"targets": [target]}]} for job, target in targets.items()]
    configuration = folder / "prometheus.yml"
    configuration.write_text(json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs}))
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    command = [program, f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'data'}"]
    with (
        (folder / "prometheus.log").open("wb") as log,
        subprocess.Popen([*command, f"--web.listen-address={address}"], stderr=log, stdout=log) as process,
    ):

        def ask(query: str) -> list[object]:
            url = f"http://{address}/api/v1/query?{urlencode({'query': query})}"
            with urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]["result"]

        try:
            yield ask
        finally:
            process.terminate()


async def test_every_query_of_the_dashboards_has_an_answer(
    bench: Bench, prometheus: Path, site: Callable[[int], list[Record]]
) -> None:
    worker = bench.worker("--labeler", "triton", "--source", "html")
    await bench.until(worker.has_partitions)
    targets = {"worker": worker.monitoring.split("/")[2], "triton": bench.stack.triton_metrics.split("/")[2]}
    with scraping(prometheus / "prometheus", bench.folder, targets) as ask:

        def is_scraped() -> bool:
            try:
                return len(ask("up == 1")) == len(targets)
            except URLError:
                return False

        await bench.until(is_scraped)
        headers = (("content-type", b"text/html"),)
        image = Record(b"https://image.example/", b"GIF89a", (("content-type", b"image/gif"),))
        nothing = Record(b"https://nothing.example/", b"", headers)
        await bench.produce([*site(20), image, nothing, Record(None, b"<p>no URL</p>", headers)])
        await bench.until_done()

        def unanswered() -> set[str]:
            found = {query for query in queries() if not ask(query)}
            return {query for query in found if not WITHOUT_ANSWER & set(re.findall(r"\w+", query))}

        try:
            await bench.until(lambda: not unanswered())
        except pytest.fail.Exception:
            pytest.fail(f"no answer to {unanswered()}")
