import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

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
        }
    ]


def test_the_same_document_gives_the_same_bytes() -> None:
    assert DOCUMENT.to_json() == replace(DOCUMENT, fetched_at=datetime(2024, 5, 1, 12, tzinfo=UTC)).to_json()


def test_metadata_are_one_object_with_dates_in_utc() -> None:
    metadata = Metadata("Ann", datetime(2024, 5, 1, 8, tzinfo=UTC), date(2024, 5, 2), tags=("a",))
    fields = json.loads(replace(DOCUMENT, metadata=metadata).to_json())
    assert fields["metadata"]["published"] == "2024-05-01T08:00:00Z"
    assert fields["metadata"]["modified"] == "2024-05-02"
    assert fields["metadata"]["tags"] == ["a"]
    assert fields["metadata"]["license"] is None
    assert json.loads(DOCUMENT.to_json())["metadata"] is None
