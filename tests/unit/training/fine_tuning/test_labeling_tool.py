"""Fine-tuning as the labeling tool starts it, in the environment that has the training framework."""

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, versions
from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.streams.files.readers import read_pages
from dehusk.streams.inspection.inspection import open_inspector_pool
from dehusk.streams.labeling.fine_tuning import FineTuner, Training
from dehusk.streams.labeling.labels_file import open_labels_file
from dehusk.streams.labeling.session import Session
from dehusk.streams.labeling.store import open_store
from dehusk.streams.settings import PageLimits
from dehusk.streams.worker_settings import WorkerSettings

from .conftest import Crawl, labels_of, mill_html

pytestmark = pytest.mark.training


async def _tuned(crawl: Crawl, folder: Path) -> dict[str, object]:
    """Fine-tune in the tool, and return its overview at the end."""
    training = Training(Path(sys.executable), DEFAULT_REPOSITORY, "dehusk", "", folder)
    pages = read_pages([crawl.pages], PageLimits().max_bytes)
    async with open_inspector_pool(WorkerSettings()) as pool:
        with open_store(pages) as store, open_labels_file(crawl.labels) as file:
            session = Session(store, file, pool, RulesLabeler())
            async with aclosing(FineTuner(training, session, store, file)) as tuner:
                tuner.start()
                while tuner.overview["state"] == "running":  # noqa: ASYNC110 nobody sets an event
                    await asyncio.sleep(0.01)
                return tuner.overview


def test_scores_before_and_after_are_shown_of_what_is_labeled_as_a_whole(mill, tmp_path):
    mill.label("m13", mill_html(13), [1, *[None] * (len(labels_of(mill_html(13))) - 1)])
    shown = asyncio.run(_tuned(mill, tmp_path / "tuned"))
    version = str(int(versions(DEFAULT_REPOSITORY, "dehusk")[-1]) + 1)
    assert shown["state"] == "written"
    assert shown["result"][0].startswith("12 labeled pages, in cross-validation: F1 0.")
    assert shown["result"][1].startswith("3 pages without labels: ")
    assert "cross-validation, part 5 of 5" in shown["progress"]
    assert versions(tmp_path / "tuned", "dehusk") == [version]


def test_too_few_labels_are_named_once(crawl, tmp_path):
    crawl.add("m0", mill_html(0), labels_of(mill_html(0)))
    shown = asyncio.run(_tuned(crawl, tmp_path / "tuned"))
    assert shown["state"] == "failed"
    assert "labels of 1 pages with text, which are too few: label at least 10" in shown["message"]
    assert not any("too few" in line for line in shown["progress"])
