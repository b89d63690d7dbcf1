import json
import pickle
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from dehusk.schemas.documents import CleanedBlock, CleanedDocument, Origin, Template
from dehusk.schemas.metadata import Metadata
from dehusk.schemas.pages import ModelVersion

DOCUMENT = CleanedDocument(
    id="1",
    url="http://x.test/",
    site="x.test",
    fetched_at=datetime(2024, 5, 1, 14, tzinfo=timezone(timedelta(hours=2))),
    title="T",
    text="text",
    comments="a comment",
    language=None,
    raw_length=10,
    text_length=4,
    model=ModelVersion("m", "1"),
    labeler="rules",
    degraded=("model",),
    template=Template(2, 1, 4, 3),
    source=Origin("raw", 0, 5),
)


def test_a_document_is_one_json_object() -> None:
    fields = json.loads(DOCUMENT.to_json())
    assert fields["fetched_at"] == "2024-05-01T12:00:00Z"
    assert fields["model"] == {"name": "m", "version": "1"}
    assert fields["template"] == {
        "pages_seen": 2,
        "blocks_matched": 1,
        "blocks_dropped": 4,
        "blocks_saved": 3,
    }
    assert fields["source"] == {"topic": "raw", "partition": 0, "offset": 5}
    assert fields["degraded"] == ["model"]
    assert fields["language"] is None
    assert fields["comments"] == "a comment"
    assert fields["revision"] == 1
    assert "blocks" not in fields


def test_blocks_are_written_where_they_were_asked_for() -> None:
    block = CleanedBlock("text", "html/body/p", 0.9, content=True)
    fields = json.loads(replace(DOCUMENT, blocks=(block,)).to_json())
    assert fields["blocks"] == [
        {
            "text": "text",
            "path": "html/body/p",
            "probability": 0.9,
            "content": True,
            "comment": False,
            "frequency": None,
            "xpath": None,
        }
    ]


def test_the_same_document_gives_the_same_bytes() -> None:
    assert DOCUMENT.to_json() == replace(DOCUMENT, fetched_at=datetime(2024, 5, 1, 12, tzinfo=UTC)).to_json()


def test_metadata_are_one_object_with_times_and_days() -> None:
    metadata = Metadata("Ann", datetime(2024, 5, 1, 8, tzinfo=UTC), date(2024, 5, 2), tags=("a",))
    fields = json.loads(replace(DOCUMENT, metadata=metadata).to_json())
    assert fields["metadata"]["published"] == "2024-05-01T08:00:00Z"
    assert fields["metadata"]["published_day"] == "2024-05-01"
    assert fields["metadata"]["modified"] == fields["metadata"]["modified_day"] == "2024-05-02"
    assert fields["metadata"]["tags"] == ["a"]
    assert fields["metadata"]["license"] is None
    assert json.loads(DOCUMENT.to_json())["metadata"] is None


FULL = replace(
    DOCUMENT,
    metadata=Metadata("Ann", datetime(2024, 5, 1, 8, tzinfo=UTC), date(2024, 5, 2), tags=("a", "b")),
    blocks=(CleanedBlock("text", "html/body/p", 1.0, content=True, frequency=2),),
    markdown="text",
    html="<p>text</p>",
)


@pytest.mark.parametrize(
    "document", [DOCUMENT, FULL, replace(FULL, fetched_at=None, source=None, template=None)]
)
def test_a_document_is_read_from_its_json_and_its_dict(document: CleanedDocument) -> None:
    assert CleanedDocument.from_json(document.to_json()) == document
    assert CleanedDocument.from_json(document.to_json_bytes()) == document
    assert CleanedDocument.from_dict(json.loads(json.dumps(document.to_dict()))) == document
    assert pickle.loads(pickle.dumps(document)) == document


def test_fields_that_are_not_known_are_ignored_and_those_with_defaults_may_be_missing() -> None:
    named = DOCUMENT.to_dict() | {"new": 1}
    del named["metadata"]
    assert CleanedDocument.from_dict(named) == DOCUMENT


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"url": None}, "url is None, no str"),
        ({"raw_length": "10"}, "raw_length is '10', no int"),
        ({"raw_length": True}, "raw_length is True, no int"),
        ({"raw_length": 2**63}, "raw_length is 9223372036854775808, no int"),
        ({"fetched_at": "May"}, "fetched_at is 'May', no datetime"),
        (
            {"fetched_at": "0001-01-01T00:00:00+14:00"},
            r"fetched_at is '0001-01-01T00:00:00\+14:00', no time in",
        ),
        (
            {"fetched_at": "9999-12-31T23:59:59-14:00"},
            "fetched_at is '9999-12-31T23:59:59-14:00', no time in",
        ),
        ({"degraded": "model"}, "degraded is 'model', no tuple"),
        ({"degraded": ["model", 1]}, r"degraded\[1\] is 1, no str"),
        ({"model": {"name": "m"}}, "model.version is missing"),
        ({"model": "m"}, "model is 'm', no object"),
        ({"metadata": {"published": "2024-13-01"}}, "metadata.published is '2024-13-01', no date"),
        (
            {"blocks": [{"text": "t", "path": "p", "probability": "1"}]},
            r"blocks\[0\].probability is '1', no float",
        ),
    ],
)
def test_what_is_no_document_is_refused_by_its_field(change: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        CleanedDocument.from_dict(DOCUMENT.to_dict() | change)


@pytest.mark.parametrize("text", ["", "{", b"\xff"])
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(json.JSONDecodeError):
        CleanedDocument.from_json(text)


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match=r"it is \[\], no object"):
        CleanedDocument.from_json("[]")


def test_a_time_of_metadata_keeps_its_offset_and_its_day() -> None:
    midnight = datetime(2024, 5, 1, tzinfo=timezone(timedelta(hours=2)))
    fields = json.loads(replace(DOCUMENT, metadata=Metadata(published=midnight)).to_json())["metadata"]
    assert (fields["published"], fields["published_day"]) == ("2024-05-01T00:00:00+02:00", "2024-05-01")
    assert (fields["modified"], fields["modified_day"]) == (None, None)
