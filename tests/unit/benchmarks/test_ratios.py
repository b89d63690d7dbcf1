from pathlib import Path

from benchmarks.pages import Page
from benchmarks.ratios import NOISE, PUBLISHED, Ratios, compare, ratios_of, read, write
from benchmarks.steps import PARSE, RESILIPARSE

PAGES = [Page("", b"x" * 1000), Page("", b"x" * 3000)]
TIMES = {PARSE: 0.5, "segment": 1.0, "all": 3.0, RESILIPARSE: 2.0}


def test_ratios_are_written_and_read_again(tmp_path: Path) -> None:
    ratios = {"as crawled": ratios_of(PAGES, TIMES)}
    assert ratios["as crawled"] == Ratios(2, 2, {PARSE: 0.25, "segment": 0.5, "all": 1.5, RESILIPARSE: 1.0})
    write(tmp_path / "build" / "ratios.json", ratios)
    assert read(tmp_path / "build" / "ratios.json") == ratios
    assert read(tmp_path / "missing.json") == {}


def test_what_is_slower_than_noise_allows_is_named() -> None:
    before = {"as crawled": ratios_of(PAGES, TIMES)}
    slower = {**TIMES, "segment": NOISE * 1.0 + 0.01, "all": NOISE * 3.0 - 0.01, PARSE: 1.0}
    assert compare({"as crawled": ratios_of(PAGES, slower)}, before).splitlines() == [
        f"as crawled: segment, 0.56 times {RESILIPARSE}, was published with 0.50"
    ]
    assert "no step is slower" in compare(before, before)


def test_ratios_of_other_pages_are_not_compared() -> None:
    before = {"as crawled": ratios_of(PAGES, TIMES)}
    slower = {**TIMES, "all": 9.0}
    others = {"as crawled": ratios_of(PAGES[:1], slower), "without scripts": ratios_of(PAGES, slower)}
    assert compare(others, before).count("no ratios of these pages are published") == 2


def test_published_ratios_can_be_read() -> None:
    assert {"as crawled", "without scripts"} == read(PUBLISHED).keys()
