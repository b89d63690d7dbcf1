"""The labelers by name: those that a model answers, and those that need none."""

from pkgutil import resolve_name
from typing import cast

from dehusk.inference.labeler import LocalLabeler

LOCAL_LABELERS = {
    "rules": "dehusk.inference.rules:RulesLabeler",
    "boilerpipe-words": "dehusk.inference.share_labelers:BoilerpipeWords",
    "boilerpipe-density": "dehusk.inference.share_labelers:BoilerpipeDensity",
    "declutter": "dehusk.inference.share_labelers:Declutter",
    "grf": "dehusk.inference.grf.labeler:by_features",
    "grf-words": "dehusk.inference.grf.labeler:by_words",
}
"""What opens each labeler that needs neither a server nor a model; it is loaded only where it is used."""

LABELERS = ("triton", "onnx", *LOCAL_LABELERS)
"""All that can be asked for."""


def open_local_labeler(name: str) -> LocalLabeler:
    """The labeler of this name in `LOCAL_LABELERS`."""
    return cast("LocalLabeler", resolve_name(LOCAL_LABELERS[name])())
