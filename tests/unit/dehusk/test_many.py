import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from itertools import count, islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import dehusk

PROSE = "<p>A paragraph of prose, which is the whole of its page, and long enough to be one.</p>" * 3
PAGES = sorted((Path(__file__).parents[3] / "inference/golden_pages").glob("*.html"))
EAST = timezone(timedelta(hours=14))
SLOW = "<p>" + "a <b>b</b> " * 400_000


def reasons(pages: Iterable[object], **options: object) -> list[str | None]:
    results = dehusk.extract_many(pages, processes=1, labeler="rules", **options)  # type: ignore[arg-type]
    return [result.reason if isinstance(result, dehusk.ExtractionError) else None for _, result in results]


def numbered() -> Iterator[tuple[str, str]]:
    return ((f"<title>{number}</title>{PROSE}", f"http://x.test/{number}") for number in count())


def is_left() -> bool:
    return any(thread.name == "dehusk-extract-many" for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert not is_left()
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("processes", [1, 2])
def test_documents_are_those_of_an_extractor_in_the_order_of_the_pages(processes: int) -> None:
    pages = [(page.read_bytes(), f"http://x.test/{page.stem}") for page in PAGES] * 12
    extractor = dehusk.Extractor(with_blocks=True, with_markdown=True)
    many = dehusk.extract_many(iter(pages), processes=processes, with_blocks=True, with_markdown=True)
    assert list(many) == [(page, extractor.extract(*page)) for page in pages]


def test_a_page_is_html_a_pair_or_a_mapping() -> None:
    koi8 = {"html": "<p>Привет, мир".encode("koi8-r"), "content_type": "text/html; charset=koi8-r", "more": 1}
    pages: list[object] = [
        PROSE,
        bytearray(PROSE.encode()),
        memoryview(PROSE.encode()),
        (PROSE, None),
        (PROSE, "http://x.test/"),
    ]
    pages += [{"html": PROSE, "url": "http://x.test/", "id": id_} for id_ in ("7", 8)]
    pages += [{"html": PROSE, "url": None}, koi8]
    results = list(dehusk.extract_many(pages, processes=1, labeler="rules", with_blocks=True))
    documents = [result for _, result in results if isinstance(result, dehusk.Document)]
    assert [page for page, _ in results] == pages
    assert [(document.id, document.url) for document in documents] == [
        *[("", "")] * 4,
        ("http://x.test/",) * 2,
        ("7", "http://x.test/"),
        ("8", "http://x.test/"),
        *[("", "")] * 2,
    ]
    assert [block.text for block in documents[-1].blocks or ()] == ["Привет, мир"]


class Missing:
    """A value whose comparisons are neither true nor false, as pandas' NA."""

    def __ne__(self, other: object) -> NoReturn:
        raise TypeError


def test_a_mapping_may_be_a_row_of_pandas() -> None:
    class MissingTime(datetime):
        """A time that is not equal to itself, as pandas' NaT."""

        def __ne__(self, other: object) -> bool:
            return True

    missing = float("nan")
    row = {"html": PROSE, "url": missing, "content_type": missing, "language": Missing()}
    row["fetched_at"] = MissingTime(2026, 5, 1)
    rows = [row | {"id": id_} for id_ in (np.int64(8), 8.0, missing)]
    documents = [found for _, found in dehusk.extract_many(rows, processes=1, labeler="rules")]
    assert [(document.id, document.url, document.fetched_at) for document in documents] == [
        ("8", "", None),
        ("8", "", None),
        ("", "", None),
    ]


@pytest.mark.parametrize("missing", [None, float("nan"), Missing()], ids=["None", "NaN", "NA"])
def test_pages_and_urls_may_be_missing_in_columns_of_pandas(missing: Any) -> None:
    pages = [
        (PROSE, missing),
        (missing, "http://x.test/"),
        {"html": missing, "url": "http://x.test/"},
        missing,
    ]
    with dehusk.extract_many(pages, processes=1, labeler="rules") as results:
        (_, document), *others = results
    assert isinstance(document, dehusk.Document)
    assert document.url == ""
    assert [str(error) for _, error in others] == ["no-body: the message holds no content"] * 3


@pytest.mark.parametrize(
    ("time", "told"),
    [
        (datetime(2026, 5, 1, 9), "2026-05-01T09:00:00Z"),  # noqa: DTZ001 without a zone
        (datetime(2026, 5, 1, 9, tzinfo=EAST), "2026-04-30T19:00:00Z"),
        (datetime(1, 1, 1, 9, tzinfo=EAST), None),
    ],
)
def test_the_time_of_the_crawl_is_in_utc(time: datetime, told: str | None) -> None:
    ((_, document),) = dehusk.extract_many(
        [{"html": PROSE, "fetched_at": time}], processes=1, labeler="rules"
    )
    assert isinstance(document, dehusk.Document)
    assert document.to_dict()["fetched_at"] == told


def test_a_page_that_fails_is_an_error_beside_the_others() -> None:
    pages: list[object] = [
        PROSE,
        b"%PDF-1.7",
        "",
        None,
        float("nan"),
        {"url": "http://x.test/"},
        (PROSE, 5),
        ("a", "b", "c"),
        PROSE,
    ]
    assert reasons(pages) == [
        *(None, "not-html", "no-body", "no-body", "no-body"),
        *["malformed-message"] * 3,
        None,
    ]
    assert reasons([PROSE, "<p>x" * 50], max_page_blocks=20) == [None, "too-many-blocks"]


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ({"content": PROSE}, "the page has no key 'html', only 'content'"),
        ({"url": "http://x.test/", 5: PROSE}, "the page has no key 'html', only 'url', 5"),
        ({}, "the page has no key 'html', only none at all"),
        ({"html": 5}, "html is int, neither str nor bytes"),
        ({"html": np.zeros(2)}, "html is ndarray, neither str nor bytes"),
        ({"html": PROSE, "url": np.zeros(2)}, "url is ndarray, not str"),
        (("a", "b", "c"), "a page is html, or a pair of html and URL, not a tuple of 3"),
        ((PROSE,), "a page is html, or a pair of html and URL, not a tuple of 1"),
    ],
)
def test_what_has_no_form_of_a_page_is_named(page: Any, said: str) -> None:
    ((_, error),) = dehusk.extract_many([page], processes=1, labeler="rules")
    assert isinstance(error, dehusk.ExtractionError)
    assert said in str(error)


@pytest.mark.parametrize("page", [PROSE, PROSE.encode(), {"html": PROSE}], ids=["str", "bytes", "dict"])
def test_a_single_page_in_place_of_several_is_refused(page: Any) -> None:
    with pytest.raises(TypeError, match=f"pages is a single {type(page).__name__}; give a list of it"):
        dehusk.extract_many(page)


def test_a_page_that_exceeds_its_time_is_an_error_that_names_the_argument() -> None:
    results = dehusk.extract_many([SLOW, PROSE], processes=1, labeler="rules", page_seconds=0.1)
    ((_, result), (_, other)) = results
    assert isinstance(result, dehusk.ExtractionError)
    assert result.reason == "time-budget-exceeded"
    assert "(page_seconds)" in str(result)
    assert isinstance(other, dehusk.Document)


def test_a_process_that_dies_costs_nothing_else() -> None:
    with dehusk.extract_many(islice(numbered(), 200), processes=1, labeler="rules") as many:
        taken = [next(many)]
        (child,) = multiprocessing.active_children()
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        taken += many
    assert [result.title for _, result in taken if isinstance(result, dehusk.Document)] == list(
        map(str, range(200))
    )


def test_few_pages_are_read_ahead() -> None:
    read: list[str] = []
    pages = (read.append(url) or (html, url) for html, url in numbered())  # type: ignore[func-returns-value]
    with dehusk.extract_many(pages, processes=1, labeler="rules") as many:
        assert read == []
        for number, (_, result) in enumerate(islice(many, 100)):
            assert isinstance(result, dehusk.Document)
            assert result.title == str(number)
            assert len(read) <= number + 40


def test_results_come_before_a_slow_source_goes_on() -> None:
    read: list[int] = []

    def slow() -> Iterator[str]:
        for number in range(4):
            read.append(number)
            yield PROSE
            threading.Event().wait(0.2)

    for number, _ in enumerate(dehusk.extract_many(slow(), processes=1, labeler="rules")):
        assert len(read) <= number + 3


def test_an_error_of_the_source_comes_after_the_results_before_it() -> None:
    def failing() -> Iterator[str]:
        yield from [PROSE] * 3
        raise LookupError("the source")

    taken = []
    with pytest.raises(LookupError, match="the source"):
        taken += (result for result in dehusk.extract_many(failing(), processes=1, labeler="rules"))
    many = dehusk.extract_many(failing(), processes=1, labeler="rules")
    assert len([next(many) for _ in range(3)]) == 3
    with pytest.raises(LookupError, match="the source"):
        next(many)
    assert list(many) == []


def test_processes_end_with_the_pages_the_block_or_the_iterator() -> None:
    many = dehusk.extract_many(numbered(), processes=1, labeler="rules")
    assert not is_left()
    next(many)
    assert is_left()
    many.close()
    assert not is_left()
    assert list(many) == []
    with dehusk.extract_many(numbered(), processes=1, labeler="rules") as many:
        next(many)
    assert not is_left()
    for _ in dehusk.extract_many(numbered(), processes=1, labeler="rules"):
        break
    assert not is_left()
    assert list(dehusk.extract_many([], processes=1, labeler="rules")) == []


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"processes": 0}, "processes is 0; it is a number from 1"),
        ({"processes": True}, "processes is True"),
        ({"processes": 1.5}, r"processes is 1\.5"),
        ({"page_seconds": 0}, "page_seconds is 0; it is a number above 0"),
        ({"page_seconds": float("nan")}, "page_seconds is nan"),
        (
            {"page_seconds": float("inf")},
            "is inf; it is a number above 0, and 2,147,483 at most",
        ),
        ({"page_seconds": 10**400}, "page_seconds is 10"),
    ],
)
def test_numbers_are_checked_before_anything_starts(option: dict[str, int], said: str) -> None:
    with pytest.raises(dehusk.ConfigurationError, match=said):
        dehusk.extract_many([PROSE], **option)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", ["", "many = dehusk.extract_many([PAGE] * 99, processes=1); next(many)"])
def test_a_script_needs_no_guard_and_ends(tmp_path: Path, end: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import dehusk\nPAGE = {PROSE!r}\nprint('begun')\n"
        f"print([result.text[:11] for _, result in dehusk.extract_many([PAGE], processes=1)])\n{end}\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(dehusk.__file__).parents[1])}
    ended = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert (ended.stdout, ended.stderr) == ("begun\n['A paragraph']\n", "")


def test_processes_import_nothing_from_the_folder_that_a_script_is_started_in(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "script.py"
    script.write_text(
        f"import dehusk\nfor page, result in dehusk.extract_many([{PROSE!r}], processes=1):\n"
        "    print(result.text[:11])\n"
    )
    elsewhere = tmp_path / "elsewhere" / "dehusk"
    elsewhere.mkdir(parents=True)
    (elsewhere / "__init__.py").write_text("print('of another checkout', flush=True)\n")
    environment = os.environ | {"PYTHONPATH": str(Path(dehusk.__file__).parents[1])}
    command = [sys.executable, script]
    ended = subprocess.run(
        command,
        check=False,
        cwd=elsewhere.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.stdout, ended.stderr) == ("A paragraph\n", "")


def test_it_goes_from_within_an_event_loop() -> None:
    async def taken() -> int:
        return len(list(dehusk.extract_many([PROSE] * 3, processes=1, labeler="rules")))

    assert asyncio.run(taken()) == 3
