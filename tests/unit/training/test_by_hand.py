"""Labels of `dehusk label`, and the pages of data files."""

import gzip
from dataclasses import replace
from datetime import UTC, datetime

import orjson
import pytest

from dehusk.inference.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.page_labels import PageLabels, blocks_hash, html_hash
from dehusk.streams.labeling.labels_file import open_labels_file
from dehusk.training.by_hand import labels_by_hand

HTML = "<nav>Home</nav><p>The mill grinds slowly, it is said in Köln."
LABELS = PageLabels(
    id="a",
    url="https://mill.example/",
    html_hash=html_hash(HTML.encode()),
    blocks_hash=blocks_hash(segment(HTML.encode()).texts),
    labels=(0, 1),
    labeled_at=datetime(2026, 11, 23, tzinfo=UTC),
)


@pytest.fixture
def data(tmp_path):
    """Pages without gold texts: one with an id, one with a URL alone, one that is not labeled."""
    rows = [
        {"id": "a", "url": "https://mill.example/", "html": HTML},
        {"url": "https://mill.example/b c", "html": "\ufeff" + HTML},
        {"id": 7, "url": None, "html": HTML},
    ]
    file = tmp_path / "pages.jsonl.gz"
    file.write_bytes(gzip.compress(b"".join(orjson.dumps(row) + b"\n" for row in rows)))
    return file


@pytest.fixture
def saved(tmp_path):
    """Saves labels, and says where."""

    def save(*pages):
        with open_labels_file(tmp_path / "labels.jsonl") as file:
            for page in pages:
                file.save(page)
        return tmp_path / "labels.jsonl"

    return save


def test_without_a_file_nothing_is_labeled_by_hand(tmp_path):
    assert labels_by_hand(None, [tmp_path / "none"]) == {}


def test_labels_that_fit_their_pages_are_read(data, saved):
    pages = {name: replace(LABELS, id=name) for name in ("a", "https://mill.example/b%20c", "7")}
    assert labels_by_hand(saved(*pages.values()), [data]) == pages


@pytest.mark.parametrize(
    ("change", "misfit"),
    [
        ({"id": "elsewhere"}, r"unknown-page \(1: .*\): elsewhere$"),
        ({"html_hash": "0" * 32}, r"changed-page \(1: .*\): a$"),
        ({"blocks_hash": "0" * 32}, r"other-blocks \(1: .*\): a$"),
        ({"labels": (1, None)}, r"half-labeled \(1: .*\): a$"),
    ],
)
def test_labels_that_do_not_fit_are_named(data, saved, change, misfit):
    with pytest.raises(ConfigurationError, match=misfit):
        labels_by_hand(saved(replace(LABELS, **change)), [data])


def test_all_that_do_not_fit_are_named_at_once(data, saved):
    half = replace(LABELS, labels=(None, 1))
    with pytest.raises(ConfigurationError, match=r"unknown-page .*: x; half-labeled .*: a$"):
        labels_by_hand(saved(half, replace(LABELS, id="x")), [data])
