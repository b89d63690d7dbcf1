import numpy as np
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.labels import DROPPED, REPAIRED, TAUGHT, Labels, read_labels, write_labels

TEXTS = ("The mill ", "Home", "It grinds\nslowly.", "Imprint")


@pytest.mark.parametrize(
    ("spans", "content"),
    [
        ((), [False] * 4),
        (((0, 7),), [True, False, False, False]),
        (((0, 7), (11, 26)), [True, False, True, False]),
        (((11, 20),), [False, False, True, False]),
        (((11, 18),), [False] * 4),
        (((0, 33),), [True] * 4),
    ],
)
def test_a_block_is_content_that_lies_in_the_spans_by_more_than_half(spans, content):
    assert Labels(33, spans).content("7", TEXTS).tolist() == content


def test_blocks_may_be_cut_otherwise():
    labels = Labels(33, ((11, 26),))
    assert labels.content("7", ("The mill Home", "It grinds", "slowly.", "Imprint")).tolist() == [
        False,
        True,
        True,
        False,
    ]


def test_labels_of_another_text_are_refused():
    with pytest.raises(ConfigurationError, match="page 7 are for 32 characters"):
        Labels(32, ()).content("7", TEXTS)


def test_a_dropped_page_has_no_content():
    assert not DROPPED.content("7", TEXTS).any()


def test_labels_are_read_as_they_were_written(tmp_path):
    content, uncertain = np.array([False, True, True, False]), np.array([True, False, False, False])
    written = {"7": Labels.of(TEXTS, content, uncertain), "8": DROPPED}
    write_labels(tmp_path / "labels.json", written)
    read = read_labels(tmp_path / "labels.json")
    assert read == written
    assert read["7"].content("7", TEXTS).tolist() == content.tolist()
    assert read["7"].doubted("7", TEXTS).tolist() == uncertain.tolist()


@pytest.mark.parametrize("file", [REPAIRED, TAUGHT], ids=lambda file: file.stem)
def test_published_labels_hold_no_text(file):
    labels = read_labels(file)
    assert len(labels) > 200
    assert DROPPED in labels.values()
    for each in labels.values():
        flat = [place for span in each.spans for place in span]
        assert flat == sorted(flat)
        assert all(0 <= place <= each.characters for place in flat)
