"""Samples on their way to a Redis that is not there."""

import logging

import pytest

from dehusk.schemas.documents import TextSample
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.samples import open_samples

SAMPLE = TextSample(1, "Sign up", 3, dropped=True)


def nowhere(*, cluster: bool = False) -> RedisSettings:
    return RedisSettings(f"redis://{LOOPBACK}:{free_ports(1)[0]}", cluster=cluster)


@pytest.mark.parametrize("cluster", [False, True])
async def test_what_no_redis_takes_is_lost_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture, *, cluster: bool
) -> None:
    async with open_samples(nowhere(cluster=cluster)) as samples:
        for _ in range(2):
            samples.note("a.test", [SAMPLE])
            await samples.write()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "samples of the texts of sites are lost" in caplog.text


async def test_without_samples_nobody_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    async with open_samples(nowhere()) as samples:
        samples.note("a.test", [])
        await samples.write()
    assert caplog.records == []


async def test_a_url_that_is_none_of_a_redis_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no URL of a Redis"):
        async with open_samples(RedisSettings("http://localhost")):
            pass
