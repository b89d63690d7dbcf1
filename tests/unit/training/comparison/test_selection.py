import lzma
from datetime import UTC, datetime

import orjson
import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.page_labels import PageLabels, blocks_hash, html_hash
from dehusk.streams.labeling.labels_file import open_labels_file
from dehusk.training.comparison.questions import Sampling, select_pages

HTML = "<nav>Home</nav><p>The mill turns.<p>It grinds."


def written(file, *pages):
    file.write_bytes(lzma.compress(b"\n".join(map(orjson.dumps, pages))))
    return file


def page(number, **fields):
    url = f"http://mill{number}.example/"
    return {"id": str(number), "url": url, "html": HTML, "main_content": "The mill turns.", **fields}


def labeled(folder, *labels, html=HTML, name="1"):
    path = folder / "labels.jsonl"
    texts = segment(html.encode()).texts
    with open_labels_file(path) as file:
        now = datetime.now(UTC)
        digests = html_hash(html.encode()), blocks_hash(texts)
        file.save(PageLabels(name, f"http://{name}/", *digests, labels, now))
    return path


def test_pages_without_gold_are_counted_and_left_out(tmp_path):
    file = written(tmp_path / "a.jsonl.xz", page(1), page(2, main_content=None), page(3, kind="blog"))
    selection = select_pages([file], None, Sampling())
    assert [(each.id, each.page_type) for each in selection] == [("1", ""), ("3", "blog")]
    assert (len(selection), selection.without_gold) == (2, 1)


def test_every_nth_page_with_gold_of_each_file_is_taken(tmp_path):
    pages = [page(number, main_content=None if number == 1 else "x") for number in range(8)]
    files = [written(tmp_path / name, *pages) for name in ("a.jsonl.xz", "b.jsonl.xz")]
    taken = [(each.collection, each.id) for each in select_pages(files, None, Sampling(every=3))]
    assert taken == [(name, number) for name in "ab" for number in ("0", "4", "7")]


def test_a_sample_is_the_same_again_and_another_by_another_seed(tmp_path):
    file = written(tmp_path / "a.jsonl.xz", *map(page, range(40)))

    def drawn(seed):
        return [each.id for each in select_pages([file], None, Sampling(most=10, seed=seed))]

    assert len(drawn(1)) == 10
    assert drawn(1) == drawn(1) != drawn(2)
    assert sorted(drawn(1), key=int) == drawn(1)
    assert len(select_pages([file], None, Sampling(most=100))) == 40


def test_files_without_gold_are_refused(tmp_path):
    file = written(tmp_path / "a.jsonl.xz", page(1, main_content=None))
    with pytest.raises(ConfigurationError, match=r"a\.jsonl\.xz has a gold text"):
        select_pages([file], None, Sampling())


def test_pages_are_known_by_a_file_of_labels_whatever_they_come_in(tmp_path):
    pages = tmp_path / "pages.jsonl"
    pages.write_bytes(b"\n".join(orjson.dumps({"id": str(n), "url": None, "html": HTML}) for n in range(3)))
    (found,) = selection = select_pages([pages], labeled(tmp_path, 0, 1, 0), Sampling())
    assert (found.id, found.labels, found.collection) == ("1", (False, True, False), "pages")
    assert selection.without_gold == 2


def test_a_directory_may_hold_pages_that_were_labeled_and_no_others(tmp_path):
    folder = tmp_path / "mills"
    folder.mkdir()
    (folder / "pages.jsonl").write_bytes(orjson.dumps({"id": "1", "url": None, "html": HTML}))
    (found,) = select_pages([folder], labeled(tmp_path, 0, 1, 0), Sampling())
    assert (found.id, found.collection) == ("1", "mills")
    with pytest.raises(ConfigurationError, match="mills is a directory"):
        select_pages([folder], None, Sampling())


@pytest.mark.parametrize(
    ("labels", "fields", "misfit"),
    [
        ((0, 1, None), {}, "half-labeled"),
        ((0, 1, 1), {"html": "<p>another"}, "changed-page"),
        ((0, 1, 1), {"name": "7"}, "unknown-page"),
    ],
)
def test_labels_that_do_not_fit_are_refused_by_name(tmp_path, labels, fields, misfit):
    pages = tmp_path / "pages.jsonl"
    pages.write_bytes(orjson.dumps({"id": "1", "url": None, "html": HTML}))
    path = labeled(tmp_path, *labels, **fields)
    with pytest.raises(ConfigurationError, match=misfit):
        select_pages([pages], path, Sampling())


def test_a_damaged_file_of_labeled_pages_is_refused(tmp_path):
    pages = tmp_path / "pages.jsonl.xz"
    line = orjson.dumps({"id": "1", "url": None, "html": HTML}) + b"\n"
    pages.write_bytes(lzma.compress(line * 2)[:-8])
    with pytest.raises(ConfigurationError, match="cannot be read to its end"):
        select_pages([pages], labeled(tmp_path, 0, 1, 1), Sampling())
