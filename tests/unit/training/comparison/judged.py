"""Judged pages, made up."""

from dehusk.training.comparison.judging import JudgedPage, Judgement
from dehusk.training.scores import BlockCounts, WordScores

_BLOCKS = BlockCounts(1, 1, 1, 1)


def judgement(f1, *, blocks=_BLOCKS, milliseconds=1.0, problem=""):
    return Judgement(WordScores(f1, f1, f1), blocks, milliseconds, problem)


def page(number, collection="a", page_type="", site=None, problem="", **scores):
    judgements = {name: judgement(each) if isinstance(each, float) else each for name, each in scores.items()}
    of_site = site or f"site{number}"
    return JudgedPage(str(number), collection, of_site, page_type, 0.5, 0.9, judgements, problem)
