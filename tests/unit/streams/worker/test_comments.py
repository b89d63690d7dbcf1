"""Warnings about labelers that do not tell user comments apart."""

from dataclasses import replace

import numpy as np
import pytest

from dehusk.schemas.documents import Comments
from dehusk.schemas.options import DocumentOptions
from dehusk.schemas.pages import ModelVersion, Prediction
from dehusk.streams.labelers import comments_advice
from dehusk.streams.worker_settings import WorkerSettings

LABELS = Prediction(np.zeros(1, np.float32), ModelVersion("old", "2"), "triton")


@pytest.mark.parametrize("is_asked", [False, True])
@pytest.mark.parametrize("are_told", [False, True])
def test_comments_that_are_not_told_apart_are_said_where_that_is_asked_for(
    *, is_asked: bool, are_told: bool
) -> None:
    settings = WorkerSettings(
        options=DocumentOptions(comments=Comments.DROP), comments_are_told_apart=is_asked
    )
    labels = replace(LABELS, comments=LABELS.probabilities) if are_told else LABELS
    said = "--comments drop has no effect: old does not tell user comments apart"
    assert comments_advice(settings, labels) == (said if is_asked and not are_told else None)
