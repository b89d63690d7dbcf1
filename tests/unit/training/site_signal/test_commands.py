import lzma
import re

import orjson
import pytest
from click.testing import CliRunner

from dehusk.inference.selection.site_signal import INPUTS, SignalNetwork
from dehusk.training.__main__ import cli
from dehusk.training.dehusk.config import DEFAULT_CONFIG
from dehusk.training.site_signal.crawls import site_pages

pytestmark = pytest.mark.training

SMALL = {"dense": 8, "hidden": 4, "epochs": 1, "trees": 2, "least_blocks": 1, "warmup_steps": 1}
SITES = tuple(f"mill{number}" for number in range(16))
SENTENCE = "The mill of {} grinds the corn of the village while its wheel turns {} in the river at night"


def html(site, number):
    menu = "".join(f"<li><a href=/{place}>Part {chr(97 + place)} of {site}</a></li>" for place in range(3))
    text = SENTENCE.format(site, chr(97 + number) * 3)
    return f"<html><body><ul class=menu>{menu}</ul><h1>{text[:20]}</h1><p>{text}.</p><p>{text} again.</p>"


@pytest.fixture
def config(tmp_path):
    text = DEFAULT_CONFIG.read_text()
    for name, value in SMALL.items():
        text = re.sub(rf"^{name} = .*", f"{name} = {value}", text, flags=re.MULTILINE)
    file = tmp_path / "dehusk.toml"
    file.write_text(text)
    return file


@pytest.fixture
def pages(tmp_path):
    file = tmp_path / "mills.jsonl.xz"
    with lzma.open(file, "wb") as lines:
        for site in SITES:
            for number in range(5):
                text = SENTENCE.format(site, chr(97 + number) * 3)
                page = {
                    "id": f"{site}-{number}",
                    "url": f"https://{site}.example/{number}",
                    "html": html(site, number),
                    "main_content": f"{text}.\n{text} again." if number else None,
                }
                lines.write(orjson.dumps(page, option=orjson.OPT_APPEND_NEWLINE))
    return file


def run(*arguments):
    result = CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_from_pages_of_sites_to_weights_and_scores(tmp_path, config, pages):
    of_run = ["--directory", tmp_path / "run"]
    run("prepare", *of_run, "--config", config, "--processes", 1, pages)
    told = run(
        "signal", "prepare", *of_run, "--config", config, "--processes", 1, "--also", "boilernet/2", pages
    )
    assert "16 sites, 80 pages, 64 with gold." in told
    sites = site_pages(tmp_path / "run")
    assert all(len(page.answers) == 2 for of_site in sites.values() for page in of_site)
    assert all(answer.shape == (2, 6) for answer in sites["mill4.example"][1].answers)
    assert sites["mill4.example"][0].gold is None
    run("signal", "fit", *of_run, "--output", tmp_path / "weights.json")
    assert SignalNetwork.read(tmp_path / "weights.json").weights.shape[0] == len(INPUTS)
    scores = run("signal", "evaluate", *of_run, "--orders", 1)
    assert scores.count("| pages before | visits |") == 2
    assert scores.count("| mill4.example | ") == 0
    assert re.search(r"^\| 3 \| \d+ \| [01]\.\d{3} \| [01]\.\d{3} \|", scores, re.MULTILINE)
