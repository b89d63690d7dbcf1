import lzma

import orjson
import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, versions
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.fine_tuning.trials import MIN_SCORED, try_fine_tuning

from .conftest import harbour_html, labels_of, mill_html

pytestmark = pytest.mark.training

BASE = ModelVersion("dehusk", versions(DEFAULT_REPOSITORY, "dehusk")[-1])


def line(site, number, html, gold):
    page = {"id": f"{site}{number}", "url": f"https://{site}.example/{number}", "html": html}
    return orjson.dumps(page | {"main_content": gold}) + b"\n"


def mill_line(number):
    html = mill_html(number)
    texts = segment(html.encode()).texts
    gold = "\n".join(text for text, label in zip(texts, labels_of(html), strict=True) if label)
    return line("mill", number, html, gold)


@pytest.fixture
def files(tmp_path):
    mill = b"".join(mill_line(number) for number in range(10 + MIN_SCORED))
    harbour = b"".join(line("harbour", n, harbour_html(n), "The mill says") for n in range(3))
    for name, lines in (("mill", mill), ("harbour-train", harbour + line("harbour", 9, "<p>a", None))):
        (tmp_path / f"{name}.jsonl.xz").write_bytes(lzma.compress(lines))
    return [tmp_path / "mill.jsonl.xz", tmp_path / "harbour-train.jsonl.xz"]


def test_a_site_gains_and_the_pages_of_others_do_not_change(files):
    said = []
    table = try_fine_tuning(files, BASE, DEFAULT_REPOSITORY, 10, 1, report=said.append)
    trials, before, after, gain, worst, written = table.splitlines()[2].split("|")[1:7]
    assert (int(trials), int(written)) == (1, 1)
    assert float(before) < 0.9
    assert float(after) > 0.95
    assert float(gain) == float(worst) > 0.1
    assert table.splitlines()[-1] == "| harbour | +0.00000 | +0.00000 |"
    assert "trial 1: mill" in said[-1]


def test_too_few_sites_are_counted(files):
    with pytest.raises(ConfigurationError, match=f"only 1 sites have {10 + MIN_SCORED} pages"):
        try_fine_tuning(files, BASE, DEFAULT_REPOSITORY, 20, 2, report=lambda _: None)


def test_fewer_pages_than_sites_are_refused(files):
    with pytest.raises(ConfigurationError, match="10 labeled pages cannot be of 11 sites: give more --pages"):
        try_fine_tuning(files, BASE, DEFAULT_REPOSITORY, 10, 11, report=lambda _: None)
