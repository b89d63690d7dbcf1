"""Documents that have a value in each field, and one that has as few as it can."""

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

from dehusk.schemas.documents import CleanedBlock, CleanedDocument, DocumentLink, Origin, Template
from dehusk.schemas.metadata import Metadata
from dehusk.schemas.pages import ModelVersion

FULL = CleanedDocument(
    id="urn:uuid:0b1c",
    url="https://example.org/ö?b=1",
    site="example.org",
    fetched_at=datetime(2026, 3, 1, 13, 30, 5, 123456, tzinfo=timezone(timedelta(hours=1))),
    title="Fish & <chips>",
    text="Fish\n\nare nice 🐟",
    comments="Nice!",
    language="de",
    raw_length=100,
    text_length=16,
    model=ModelVersion("dehusk", "1"),
    labeler="onnx",
    degraded=("frequencies", "model"),
    template=Template(7, 3, 2, 1),
    source=Origin("crawl", 3, 2**40),
    headline="Fish",
    revision=2,
    declared_language="de-AT",
    language_probability=0.75,
    content_hash="0123456789abcdef0123456789abcdef",
    simhash="0123456789abcdef",
    minhash="A" * 683 + "=",
    metadata=Metadata(
        author="Ann",
        published=datetime(2026, 2, 28, 23, 30, tzinfo=timezone(timedelta(hours=-5))),
        modified=date(2026, 3, 1),
        tags=("fish", "chips"),
    ),
    expected_f1=0.875,
    blocks=(
        CleanedBlock("Fish", "html/body/h1", 0.5, content=True, frequency=3, xpath="/html/body[1]/h1[1]"),
        CleanedBlock("Nice!", "html/body/p", 0.25, content=False, comment=True),
    ),
    links=(DocumentLink("https://example.org/a", "nice", 1),),
    markdown="# Fish",
    html="<h1>Fish</h1>",
)
BARE = replace(
    FULL,
    id="",
    text="",
    language=None,
    fetched_at=None,
    comments=None,
    degraded=(),
    template=None,
    source=None,
    metadata=None,
    blocks=None,
    links=(),
    markdown=None,
)
