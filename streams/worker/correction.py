"""The correction of labels by what is known of a page's site."""

from collections.abc import Callable

from schemas.pages import EncodedPage, Prediction, SiteStatistics

Correct = Callable[[Prediction, EncodedPage, SiteStatistics], Prediction]
"""The labels of a page, corrected by the statistics of its site."""


def uncorrected(prediction: Prediction, _page: EncodedPage, _statistics: SiteStatistics) -> Prediction:
    """The labels as they are."""
    return prediction
