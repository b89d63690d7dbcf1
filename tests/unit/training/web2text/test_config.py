"""Pages that are learned from."""

from dataclasses import replace

from dehusk.training.web2text.config import DataConfig, split

DATA = DataConfig(held_out=0.4, validation=0.3, content_share=0.6666, least_oracle=0.7, most_of_a_site=2)


def ids(pages):
    return {page.id for page in pages}


def test_every_site_is_in_one_part(pages):
    parts = split([*pages, *(replace(page, id=f"{page.id} again") for page in pages)], DATA)
    sites = [{page.site for page in part} for part in (parts.learned, parts.validated, parts.held_out)]
    assert all(sites)
    assert sum(map(len, sites)) == len(set.union(*sites)) == len(pages)
    assert len(parts.learned) + len(parts.validated) + len(parts.held_out) == 2 * len(pages)


def test_a_site_is_learned_from_by_some_of_its_pages(pages):
    again = [replace(page, id=f"{page.id} {time}") for time in range(4) for page in pages]
    parts, once = split(again, DATA), split(pages, DATA)
    assert len(parts.learned) == 2 * len(once.learned)
    assert len(parts.held_out) == 4 * len(once.held_out)


def test_unreliable_pages_are_held_out_but_not_learned_from(pages):
    doubtful = [replace(page, reliable=False) for page in pages]
    parts = split(doubtful, DATA)
    assert not parts.learned
    assert not parts.validated
    assert ids(parts.held_out) == ids(split(pages, DATA).held_out)
    assert not split([replace(page, has_gold=False) for page in doubtful], DATA).held_out


def test_altered_pages_are_nowhere(pages):
    parts = split([replace(page, altered="renamed") for page in pages], DATA)
    assert not parts.learned + parts.validated + parts.held_out
