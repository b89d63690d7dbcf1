from dataclasses import replace

from dehusk.training.dehusk.config import fold_of
from dehusk.training.dehusk.examples import by_collection, by_site, parts_of


def test_the_pages_of_a_site_are_in_one_part(pages):
    part_of = by_site(3)
    assert parts_of(pages, part_of) == ["part 1 of 3", "part 2 of 3", "part 3 of 3"]
    assert part_of(replace(pages[0], collection="other")) == part_of(pages[0])


def test_the_files_of_a_collection_are_one_part(pages):
    some = [replace(pages[0], collection=name) for name in ("mills-train", "mills-val", "older")]
    assert parts_of(some, by_collection) == ["mills", "older"]


def test_a_site_has_one_fold():
    folds = [fold_of(f"site{number}.example", 4) for number in range(200)]
    assert set(folds) == {0, 1, 2, 3}
    assert folds == [fold_of(f"site{number}.example", 4) for number in range(200)]
