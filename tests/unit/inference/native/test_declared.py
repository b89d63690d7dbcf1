import pytest

HEAD = "<title>The old mill</title><meta property=og:title content='Mill old and new'>"
DESCRIPTIONS = (
    "<meta name=description content='a wheel turns'><meta property=og:description content='the water runs'>"
)
DATA = '<script type="application/ld+json">{"text": "wheat and\\\\nrye"}</script>'


@pytest.mark.parametrize(
    ("head", "block", "expected"),
    [
        (
            HEAD,
            "The mill, the river",
            {"words_in_title_share": 2 / 3, "title_overlap": 2 / 4, "og_title_overlap": 1 / 6},
        ),
        (HEAD, "THE OLD MILL", {"words_in_title_share": 1, "title_overlap": 1, "og_title_overlap": 2 / 5}),
        (HEAD, "…", {"words_in_title_share": 0, "title_overlap": 0}),
        ("", "The mill", {"words_in_title_share": 0, "title_overlap": 0, "og_title_overlap": 0}),
        (
            DESCRIPTIONS,
            "A wheel turns the water",
            {"description_bigrams_share": 3 / 4, "json_ld_bigrams_share": 0},
        ),
        (DESCRIPTIONS, "wheel", {"description_bigrams_share": 0}),
        (DATA, "wheat and rye too", {"description_bigrams_share": 0, "json_ld_bigrams_share": 2 / 3}),
        (HEAD + DATA, "text wheat", {"json_ld_bigrams_share": 1}),
    ],
)
def test_blocks_are_compared_with_what_the_page_declares(
    block_columns, head: str, block: str, expected: dict[str, float]
) -> None:
    columns = block_columns(f"{head}<body><p>other<p>{block}")
    assert {name: columns[name][1] for name in expected} == pytest.approx(expected, abs=0.01)


@pytest.mark.timeout(30)
def test_a_page_that_declares_much_takes_linear_time(block_columns) -> None:
    words = " ".join(f"w{number}" for number in range(40_000))
    page = f"<title>{words}</title><script type=application/ld+json>{words}</script><p>{words}"
    assert block_columns(page)["title_overlap"] == [1]
