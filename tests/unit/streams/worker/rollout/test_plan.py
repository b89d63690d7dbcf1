"""Sites that a canary labels, and the plan that is checked."""

import asyncio
from collections.abc import Sequence

import pytest

from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction
from dehusk.streams.worker.rollout.plan import OpenVersion, Plan, Plans, is_of_share

SITES = [f"site-{number}.example" for number in range(4000)]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_about_the_share_of_the_sites_is_in_it(share: float) -> None:
    found = sum(is_of_share(site, share) for site in SITES)
    assert abs(found / len(SITES) - share) < 0.03


def test_a_larger_share_keeps_the_sites_of_a_smaller_one() -> None:
    small, large = ({site for site in SITES if is_of_share(site, share)} for share in (0.1, 0.2))
    assert small < large


def test_a_site_is_where_it_was_in_every_version_of_dehusk() -> None:
    sites = ("example.org", "example.com", "münchen.de", "a", "b")
    assert [site for site in sites if not is_of_share(site, 0.5)] == ["b"]


def test_all_sites_are_in_the_whole_and_what_has_no_site_is_in_nothing() -> None:
    assert all(is_of_share(site, 1.0) for site in SITES)
    assert not is_of_share("", 1.0)


class Slow(RulesLabeler):
    """A labeler that answers when it is told to, unless it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.answers = asyncio.Event(), asyncio.Event()
        self.is_closed = False

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        self.asked.set()
        await self.answers.wait()
        if self.is_closed:
            raise asyncio.CancelledError
        return await super().label(pages)

    async def close(self) -> None:
        self.is_closed = True


async def test_a_version_that_is_checked_stays_open_until_it_has_answered() -> None:
    slow = Slow()
    plans = Plans(Plan(OpenVersion("1", slow, None)))
    checking = asyncio.create_task(plans.check())
    await slow.asked.wait()
    await plans.replace(Plan(OpenVersion("2", RulesLabeler(), None)))
    assert not slow.is_closed
    slow.answers.set()
    await checking
    assert slow.is_closed
