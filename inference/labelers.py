"""The labelers by name: those that a model answers, and those that need none."""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import cast

from dehusk.inference.labeler import LocalLabeler
from dehusk.schemas.pages import Encoding


@dataclass(frozen=True, slots=True)
class LocalLabelerKind:
    """A labeler that needs neither a server nor a model of the repository."""

    opened_by: str
    """What opens it, as `module:name`: it is loaded only where it is used."""
    encodings: frozenset[Encoding] = frozenset()
    """What it reads of a page beside what each page has."""


_BOILERPIPE, _DECLUTTER = frozenset({Encoding.BOILERPIPE}), frozenset({Encoding.DECLUTTER})
_SHARES = "dehusk.inference.share_labelers"

LOCAL_LABELERS = {
    "rules": LocalLabelerKind("dehusk.inference.rules:RulesLabeler"),
    "boilerpipe-words": LocalLabelerKind(f"{_SHARES}:BoilerpipeWords", _BOILERPIPE),
    "boilerpipe-density": LocalLabelerKind(f"{_SHARES}:BoilerpipeDensity", _BOILERPIPE),
    "declutter": LocalLabelerKind(f"{_SHARES}:Declutter", _DECLUTTER),
    "grf": LocalLabelerKind("dehusk.inference.grf.labeler:by_features"),
    "grf-words": LocalLabelerKind("dehusk.inference.grf.labeler:by_words"),
}

LABELERS = ("triton", "onnx", *LOCAL_LABELERS)
"""All that can be asked for."""


def open_local_labeler(name: str) -> LocalLabeler:
    """The labeler of this name in `LOCAL_LABELERS`."""
    return cast("LocalLabeler", resolve_name(LOCAL_LABELERS[name].opened_by)())


def encodings_of(labeler: str) -> frozenset[Encoding]:
    """What a labeler of this name reads of a page beside what each page has."""
    local = LOCAL_LABELERS.get(labeler)
    return frozenset() if local is None else local.encodings
