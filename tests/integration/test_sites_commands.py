"""`dehusk sites` and the samples that workers keep, on a real Redis and a Redis Cluster."""

import asyncio
import logging
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import orjson
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis, RedisCluster

from dehusk.schemas.documents import Origin, TextSample
from dehusk.schemas.sites import SiteObservation
from dehusk.streams import cli
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.catalogue import open_catalogue
from dehusk.streams.sites.redis_store import RedisSiteStatistics, SiteBounds, site_key
from dehusk.streams.sites.revisits import FirstPages, Visit
from dehusk.streams.sites.samples import MAX_CHANGED, MAX_CHANGED_AT_ONCE, MAX_REPEATED, open_samples
from dehusk.streams.sites.stored import StoredSample, StoredSite, unpack_site
from tests.commands import DEHUSK
from tests.integration.conftest import redis_settings
from tests.integration.redis_cluster import redis_cluster

COLUMNS = ("texts", "structure_pages", "structure_blocks", "structure_likely")


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisSettings]:
    with LocalStack(tmp_path_factory.mktemp("redis"), services=("redis",)) as running:
        yield redis_settings(running)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisSettings]:
    with redis_cluster(tmp_path_factory.mktemp("cluster"), nodes=2) as running:
        yield running


@pytest.fixture(params=["redis", "cluster"])
def server(request: pytest.FixtureRequest) -> RedisSettings:
    """An empty Redis of either kind."""
    found: RedisSettings = request.getfixturevalue(request.param)
    flush(found)
    return found


@pytest.fixture
def other(redis: RedisSettings) -> RedisSettings:
    """Another empty Redis: a database of its own."""
    found = replace(redis, url=redis.url.removesuffix("/0") + "/1")
    flush(found)
    return found


def client(server: RedisSettings) -> Redis | RedisCluster:
    return (RedisCluster if server.cluster else Redis).from_url(server.url)


def flush(server: RedisSettings) -> None:
    with closing(client(server)) as connected:
        connected.flushdb()


def run(server: RedisSettings, *words: str | Path, stdin: bytes = b"") -> CompletedProcess[bytes]:
    """A command on a Redis; all but `import`, which errors amid its input end at once, in this process."""
    options = [
        "--redis",
        server.url,
        "--redis-seconds",
        "60",
        *(["--redis-cluster"] if server.cluster else []),
    ]
    command = ["dehusk", "sites", *map(str, words), *options]
    if words[0] == "import":
        return subprocess.run(
            command, executable=DEHUSK, input=stdin, capture_output=True, check=False, timeout=60
        )
    return _run_here(command, stdin)


def _run_here(command: list[str], stdin: bytes) -> CompletedProcess[bytes]:
    with (
        CliRunner().isolation(input=stdin) as (output, errors, _),
        pytest.MonkeyPatch.context() as patch,
        ThreadPoolExecutor(1) as thread,  # which has no event loop yet
    ):
        patch.setattr(sys, "argv", command)
        patch.setattr(cli, "interrupt_on_signals", lambda: None)
        with pytest.raises(SystemExit) as ended:
            thread.submit(cli.main).result()
    return CompletedProcess(command, ended.value.code or 0, output.getvalue(), errors.getvalue())


def succeed(server: RedisSettings, *words: str | Path, stdin: bytes = b"") -> bytes:
    """Return the output of a command that ends with status 0."""
    ended = run(server, *words, stdin=stdin)
    assert (ended.returncode, b"skipped" in ended.stderr) == (0, False), ended.stderr
    return ended.stdout


def fail(server: RedisSettings, *words: str | Path, stdin: bytes = b"") -> str:
    """Return the message of a command that ends with status 1."""
    ended = run(server, *words, stdin=stdin)
    assert (ended.returncode, b"Traceback" in ended.stderr) == (1, False), ended.stderr
    return ended.stderr.decode()


def listed(server: RedisSettings, *words: str) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in succeed(server, "list", "--json", *words).splitlines()]


def page(site: str, name: str, *texts: int) -> SiteObservation:
    blocks = np.array(texts, np.uint64)
    likely = np.full(len(texts), 0.25, np.float32)
    return SiteObservation(site, name, blocks, blocks % np.uint64(7), likely, chosen=likely >= 0.5)


def pages(site: str, count: int, start: int = 0) -> list[SiteObservation]:
    """Pages that share three texts, with two of their own each."""
    return [
        page(site, f"/{number}", 1, 2, 3, 1000 + number, 2000 + number)
        for number in range(start, start + count)
    ]


async def observe(
    server: RedisSettings, *seen: SiteObservation, bounds: SiteBounds | None = None
) -> list[object]:
    """Return the statistics of each page's site without it, as plain values."""
    store = RedisSiteStatistics(server, bounds or SiteBounds())
    try:
        answers = await store.observe(seen)
    finally:
        await store.close()
    return [(each.pages, *(getattr(each, name).tolist() for name in COLUMNS)) for each in answers]


async def note(server: RedisSettings, site: str, *samples: TextSample) -> None:
    async with open_samples(server) as log:
        log.note(site, samples)


async def stored(server: RedisSettings, site: str) -> StoredSite:
    async with open_catalogue(server) as catalogue:
        summary = await catalogue.summary(site)
        assert summary is not None
        (whole,) = [each async for each in catalogue.read([summary.site])]
        return unpack_site(whole.fields)


DROPPED = TextSample(1, "Sign up", 3, dropped=True)
SAVED = TextSample(1000, "It grinds", 1, saved=True)
REPEATED = TextSample(2, "Home", 4)


@pytest.mark.parametrize("words", [("list",), ("export",), ("forget", "--all", "--yes"), ("import",)])
def test_a_node_of_a_cluster_does_not_pass_for_all_of_it(
    cluster: RedisSettings, words: tuple[str, ...]
) -> None:
    export = succeed(cluster, "export")
    alone = replace(cluster, cluster=False)
    assert fail(alone, *words, stdin=export).endswith("is a node of a Redis Cluster: give --redis-cluster\n")


async def test_sites_are_listed_with_what_is_known_of_them(server: RedisSettings) -> None:
    for site, count in (("b.test", 3), ("a.test", 12), ("c.test", 1)):
        await observe(server, *pages(site, count))
    rows = [line.split("\t") for line in succeed(server, "list").decode().splitlines()]
    assert [row[:4] for row in rows[:-1]] == [
        ["site", "pages", "texts", "structures"],
        ["a.test", "12", "27", "7"],
        ["b.test", "3", "9", "6"],
        ["c.test", "1", "5", "5"],
    ]
    assert rows[-1][0].startswith("3 sites, 16 pages, ")
    by_name = listed(server, "--sort", "name")
    assert [each["site"] for each in by_name] == ["a.test", "b.test", "c.test"]
    assert all(500 < each["bytes"] < 5_000 for each in by_name)
    assert all(each["last_counted"].startswith("20") for each in by_name)
    assert all(2_591_900 < each["expires_in_seconds"] <= 2_592_000 for each in by_name)
    assert [each["site"] for each in listed(server, "--sort", "bytes", "--limit", "2")] == [
        "a.test",
        "b.test",
    ]
    assert len(listed(server, "--limit", "1")) == 1
    assert succeed(server, "list", "--limit", "1").splitlines()[-1].startswith(b"1 of 3 sites, 16 pages")


async def test_thousands_of_sites_are_listed_once_each(server: RedisSettings) -> None:
    sites = [f"site-{number}.test" for number in range(2_500)]
    for start in range(0, len(sites), 100):
        await observe(server, *(page(site, "/", 1) for site in sites[start : start + 100]))
    with closing(client(server)) as connected:
        for number in range(500):
            connected.set(f"foreign:{number}", "x")
    assert sorted(str(each["site"]) for each in listed(server)) == sorted(sites)
    assert b"100 of 2,500 sites, 2,500 pages" in succeed(server, "list")


async def test_a_redis_without_sites_lists_none(server: RedisSettings) -> None:
    store = RedisSiteStatistics(server)
    await store.check()  # leaves a page of no site for a second
    await store.close()
    assert succeed(server, "list") == b"0 sites, 0 pages, 0 bytes\n"
    assert succeed(server, "list", "--json") == b""
    assert succeed(server, "export") == b'{"format":"dehusk-sites","version":3,"site_key":null}\n'


async def test_a_site_is_shown_with_what_was_dropped_and_saved(server: RedisSettings) -> None:
    await observe(server, *pages("a.test", 4))
    for _ in range(2):
        await note(server, "a.test", DROPPED, SAVED, REPEATED)
    await note(server, "a.test", DROPPED)
    for name in ("a.test", "https://www.a.test/some/page"):
        head, times, *rows = succeed(server, "show", name).decode().splitlines()
        assert head.startswith("a.test: 4 pages, 11 texts, 6 structures, ")
        assert "UTC, expires in 30 days" in times
        assert [row.split("\t") for row in rows] == [
            ["pages", "dropped", "saved", "text"],
            ["4 (100%)", "3", "0", "Sign up"],
            ["1 (25%)", "0", "2", "It grinds"],
            ["4 (100%)", "0", "0", "Home"],
        ]
    shown = orjson.loads(succeed(server, "show", "a.test", "--json"))
    assert shown["samples"][0] == {"text": "Sign up", "pages": 4, "dropped": 3, "saved": 0}
    assert (shown["pages"], shown["texts"], shown["frozen"], shown["texts_floor"]) == (4, 11, False, 0)


@pytest.mark.parametrize("site", ["www.a.test", ".a.test", "a.test/b"])
async def test_a_url_is_shown_by_whatever_key_its_site_is_counted(server: RedisSettings, site: str) -> None:
    site = site.removeprefix("www.")
    await observe(server, *pages(site, 3), page("b.test", "/", 1))
    shown = orjson.loads(succeed(server, "show", "https://WWW.A.test:443/b/c", "--json"))
    assert (shown["site"], shown["pages"]) == (site, 3)
    assert succeed(server, "forget", "https://a.test/b/c", "--yes") == b"1 site forgotten\n"


async def test_a_url_of_sites_by_several_keys_is_not_guessed_at(server: RedisSettings) -> None:
    await observe(server, page("a.test", "/", 1), *pages(".a.test", 2))
    for words in (["show"], ["forget", "--yes"], ["export"]):
        assert "is of a.test and .a.test, by different --site-key" in fail(server, *words, "http://a.test/")
    for name, count in (("a.test", 1), (".a.test", 2)):
        assert orjson.loads(succeed(server, "show", name, "--json"))["pages"] == count


async def test_an_import_warns_of_sites_that_workers_do_not_find(
    server: RedisSettings, other: RedisSettings
) -> None:
    await observe(server, *pages(".a.test", 1), *pages(".b.test", 1), *pages("localhost", 1))
    export = succeed(server, "export")
    assert orjson.loads(export.splitlines()[0])["site_key"] == "domain"
    warning = "dehusk: these sites were counted by --site-key domain"
    first = run(other, "import", stdin=export)
    find = "only workers with --site-key domain find them\n"
    assert (first.returncode, first.stderr.decode()) == (0, f"{warning}: {find}")
    assert run(other, "import", stdin=export).stderr == b""
    flush(other)
    await observe(other, *pages("c.test", 1))
    third = run(other, "import", stdin=export).stderr.decode()
    assert third == f"{warning}, and those of this Redis by --site-key host: {find}"


async def test_a_site_that_lost_rare_texts_says_so(server: RedisSettings) -> None:
    bounds = SiteBounds(texts=10, structures=3)
    await observe(server, *pages("a.test", 20), bounds=bounds)
    shown = succeed(server, "show", "a.test").decode()
    assert "rarer texts were forgotten: pages of a text may be too few by " in shown
    assert "rarer structures were forgotten" in shown
    assert "no texts of it are kept to be shown yet" in shown


async def test_a_site_that_is_not_known_is_answered_with_those_that_are_near(server: RedisSettings) -> None:
    await observe(server, page("news.example.org", "/", 1), page("shop.test", "/", 1))
    for words in (["show"], ["forget", "--yes", "shop.test"], ["export"]):
        said = fail(server, *words, "news.exmaple.org")
        assert "nothing is known of the site 'news.exmaple.org'; did you mean news.example.org?" in said
    assert len(listed(server)) == 2


async def test_sites_are_forgotten_once_that_is_confirmed(server: RedisSettings) -> None:
    await observe(server, *(page(site, "/", 1) for site in ("a.test", "b.test", "c.test", "a.test/é")))
    for answer in (b"", b"n\n", b"\n"):
        said = fail(server, "forget", "a.test", stdin=answer)
        assert said.startswith("Forget 1 site? [y/N] ")
        assert "nothing is forgotten" in said
    assert len(listed(server)) == 4
    assert succeed(server, "forget", "a.test", "http://b.test/", stdin=b"y\n") == b"2 sites forgotten\n"
    assert succeed(server, "forget", "a.test/é", "--yes") == b"1 site forgotten\n"
    assert [each["site"] for each in listed(server)] == ["c.test"]
    assert await observe(server, page("a.test", "/", 1)) == [(0, [0], [0], [0], [0])]
    with closing(client(server)) as connected:
        connected.set("foreign", "x")
        assert succeed(server, "forget", "--all", "--yes") == b"2 sites forgotten\n"
        assert connected.get("foreign") == b"x"
    assert listed(server) == []


async def test_a_site_that_is_forgotten_has_first_pages_anew(redis: RedisSettings) -> None:
    flush(redis)
    sites = ["a.test", "b.test", "a.test/é"]
    await observe(redis, *(page(site, "/", 1) for site in sites))
    store = RedisSiteStatistics(redis)
    first_pages = FirstPages(store, "group", 1)
    visits = [Visit(site, "/", Origin("raw", 0, 0), 0, is_counted=False) for site in sites]
    await first_pages.schedule(await first_pages.remember(visits))
    assert await first_pages.remember(visits) == []
    succeed(redis, "forget", "http://WWW.A.test/", "--yes")
    assert await first_pages.remember(visits) == ["a.test"]
    succeed(redis, "forget", site_key("a.test/é").split("{")[1].removesuffix("}"), "--yes")
    assert await first_pages.remember(visits) == ["a.test", "a.test/é"]
    succeed(redis, "forget", "--all", "--yes")
    assert await first_pages.remember(visits) == sites
    await store.close()


@pytest.mark.parametrize("of_a_file", [False, True])
async def test_a_new_redis_begins_with_what_an_old_one_has_counted(
    server: RedisSettings, other: RedisSettings, tmp_path: Path, *, of_a_file: bool
) -> None:
    sites = ["a.test", "b.test", "münchen.test"]
    for site in sites:
        await observe(server, *pages(site, 30))
        await note(server, site, DROPPED, REPEATED)
    await observe(server, *pages("big.test", 1_100))  # its pages are kept in many fields
    exported = succeed(server, "export")
    if of_a_file:
        (tmp_path / "export").write_bytes(exported)
        assert succeed(other, "import", tmp_path / "export") == b"4 sites imported\n"
    else:
        assert succeed(other, "import", stdin=exported) == b"4 sites imported\n"

    def known(where: RedisSettings) -> list[object]:
        found = listed(where, "--sort", "name")
        return [[each[name] for name in ("site", "name", "pages", "texts", "structures")] for each in found]

    assert known(other) == known(server)
    assert await stored(other, "münchen.test") == await stored(server, "münchen.test")
    further = [each for site in sites for each in pages(site, 40)] + pages("big.test", 1_200)
    assert await observe(other, *further) == await observe(server, *further)
    assert await observe(other, *further) == await observe(server, *further)


async def test_sites_expire_as_if_they_had_not_moved(server: RedisSettings, other: RedisSettings) -> None:
    await observe(server, *pages("a.test", 3), *pages("b.test", 1))
    with closing(client(server)) as connected:
        connected.expire(site_key("a.test"), 1_000)
        connected.persist(site_key("b.test"))
    succeed(other, "import", stdin=succeed(server, "export"))
    first, second = listed(other, "--sort", "name")
    assert 900 < first["expires_in_seconds"] <= 1_000
    assert (second["expires_in_seconds"], second["last_counted"]) == (None, None)


async def test_an_import_leaves_sites_of_which_more_is_known(server: RedisSettings) -> None:
    await observe(server, *pages("a.test", 5), *pages("b.test", 5), *pages("c.test", 5))
    exported = succeed(server, "export")
    await observe(server, *pages("a.test", 9))
    succeed(server, "forget", "b.test", "--yes")
    await observe(server, *pages("b.test", 4, start=50))
    printed = succeed(server, "import", stdin=exported).decode().splitlines()
    assert printed == ["2 sites imported", "1 site left: more pages are counted already (--replace)"]
    assert [each["pages"] for each in listed(server, "--sort", "name")] == [9, 5, 5]
    assert await observe(server, page("b.test", "/50", 1)) == [(5, [5], [5], [7], [0.25])]
    assert succeed(server, "import", "--replace", stdin=exported) == b"3 sites imported\n"
    assert [each["pages"] for each in listed(server, "--sort", "name")] == [5, 5, 5]


async def test_some_sites_are_exported(server: RedisSettings, other: RedisSettings) -> None:
    await observe(server, *pages("a.test", 3), *pages("b.test", 2), *pages("a.test/é", 1))
    exported = succeed(server, "export", "a.test/é", "https://www.b.test/x")
    assert succeed(other, "import", stdin=exported) == b"2 sites imported\n"
    assert await observe(other, page("a.test/é", "/", 1)) == [(1, [1], [1], [1], [0.25])]


async def test_what_is_damaged_in_an_export_is_named_and_the_rest_imported(server: RedisSettings) -> None:
    await observe(server, *pages("a.test", 3), *pages("b.test", 2))
    header, first, second = succeed(server, "export").splitlines(keepends=True)
    succeed(server, "forget", "--all", "--yes")
    damaged = first.replace(b'"pages":"', b'"pages":"AAAA')
    said = fail(server, "import", stdin=header + damaged + b"\xff\n" + second + first[:100])
    assert [line.split(" is skipped: ")[0] for line in said.splitlines()] == [
        "dehusk: line 2",
        "dehusk: line 3",
        "dehusk: line 5",
    ]
    (left,) = listed(server)
    assert left["site"] == orjson.loads(second)["site"]


@pytest.mark.parametrize(
    ("export", "said"),
    [
        (b"", "this is no export of sites"),
        (b"hello\n", "this is no export of sites"),
        (b"\x1f\x8b\x08\n", "zcat FILE | dehusk sites import"),
        (b'{"format":"dehusk-sites","version":2}\n', "is of version 2, and this dehusk reads version 3"),
    ],
)
def test_what_cannot_be_imported_is_refused(redis: RedisSettings, export: bytes, said: str) -> None:
    assert said in fail(redis, "import", stdin=export)


HOSTILE = {
    b"dehusk:3:{\xff\x1b[31m}": "no worker writes such a key",
    b"dehusk:3:{a test}": "no worker writes such a key",
    b"dehusk:3:x": "no worker writes such a key",
    b"dehusk:3:{string.test}": "it is no hash",
    b"dehusk:3:{half.test}": "it has no state that a worker wrote",
    b"dehusk:3:{damaged.test}": "its texts are damaged",
}


async def test_what_is_no_site_is_named_and_skipped(server: RedisSettings, other: RedisSettings) -> None:
    await observe(server, *pages("a.test", 3))
    with closing(client(server)) as connected:
        for key in HOSTILE:
            if b"string" in key:
                connected.set(key, "x")
            else:
                connected.hset(key, "texts", "x")
        connected.hset("dehusk:3:{damaged.test}", mapping={"state": bytes(24), "texts": b"\xc1"})
    export = run(server, "export")
    said = export.stderr.decode().splitlines()
    assert export.returncode == 1
    for why, count in Counter(HOSTILE.values()).items():
        assert sum(line.startswith("dehusk: ") and why in line for line in said) == count
    assert "\x1b" not in export.stderr.decode()
    assert succeed(other, "import", stdin=export.stdout) == b"1 site imported\n"
    listing = run(server, "list", "--json")
    found = [orjson.loads(line)["site"] for line in listing.stdout.splitlines()]
    assert (listing.returncode, sorted(found)) == (1, ["a.test", "damaged.test"])
    for site in ("string.test", "half.test", "damaged.test"):
        assert f"what is kept of {site} is damaged: it" in fail(server, "show", site)
        succeed(server, "forget", site, "--yes")
    assert "3 keys" not in fail(server, "forget", "--all", "--yes")
    with closing(client(server)) as connected:
        assert sum(connected.exists(key) for key in HOSTILE) == 3


@pytest.mark.parametrize("site", ["é.test", "evil\x1b[31m.test", "x" * 5_000, "\udc80", "a{b}"])
async def test_a_site_whose_key_does_not_say_its_name_is_shown_by_it(
    server: RedisSettings, site: str
) -> None:
    await observe(server, *pages(site, 2))
    assert (await stored(server, site)).name is None
    await note(server, site)
    assert (await stored(server, site)).name == site.encode("utf-8", "surrogatepass").decode(
        "utf-8", "replace"
    )
    (found,) = listed(server)
    assert found["name"] == (await stored(server, site)).name
    assert "\x1b" not in succeed(server, "list").decode()


async def test_samples_come_and_go_with_their_site(server: RedisSettings) -> None:
    await note(server, "a.test", DROPPED)
    with closing(client(server)) as connected:
        assert not connected.exists(site_key("a.test"))
        await observe(server, *pages("a.test", 2))
        connected.expire(site_key("a.test"), 100)
        await note(server, "a.test", DROPPED)
        assert 0 < connected.ttl(site_key("a.test")) <= 100
        connected.delete(site_key("a.test"))
    await observe(server, *pages("a.test", 2))
    assert (await stored(server, "a.test")).samples == ()


async def test_samples_of_many_workers_add_up(server: RedisSettings) -> None:
    sites = [f"{name}.test" for name in "abc"]
    await observe(server, *(each for site in sites for each in pages(site, 4)))

    async def work() -> None:
        async with open_samples(server) as log:
            for _ in range(5):
                for site in sites:
                    log.note(site, [DROPPED, SAVED])
                    log.note(site, [DROPPED])
                await log.write()

    await asyncio.gather(*(work() for _ in range(6)))
    for site in sites:
        assert [(each.dropped, each.saved) for each in (await stored(server, site)).samples] == [
            (60, 0),
            (0, 30),
        ]


async def test_texts_that_come_again_outlast_those_that_come_once(redis: RedisSettings) -> None:
    flush(redis)
    await observe(redis, *pages("a.test", 4))
    async with open_samples(redis) as log:
        for number in range(40):
            once = [
                TextSample(10_000 + 5 * number + at, f"news {number}", 1, dropped=True) for at in range(5)
            ]
            menu = [TextSample(20_000 + at, f"menu {at}", 10 + at) for at in range(30)]
            log.note("a.test", [*once, DROPPED, SAVED, *menu])
            await log.write()
    samples = (await stored(redis, "a.test")).samples
    assert [(each.text, each.dropped, each.saved) for each in samples[:2]] == [
        ("Sign up", 40, 0),
        ("It grinds", 0, 40),
    ]
    changed = [each for each in samples if each.dropped + each.saved]
    assert (len(changed), len(samples) - len(changed)) == (MAX_CHANGED, MAX_REPEATED)
    assert {each.text for each in samples if each not in changed} == {f"menu {at}" for at in range(10, 30)}


async def test_a_text_that_is_dropped_late_is_kept_among_those_that_often_were(redis: RedisSettings) -> None:
    flush(redis)
    await observe(redis, *pages("a.test", 4))
    often = [TextSample(100 + at, f"often {at}", 5, dropped=True) for at in range(MAX_CHANGED)]
    groups = [
        often[start : start + MAX_CHANGED_AT_ONCE] for start in range(0, len(often), MAX_CHANGED_AT_ONCE)
    ]
    for samples in (*groups, *groups, [DROPPED], [DROPPED]):
        await note(redis, "a.test", *samples)
    kept = (await stored(redis, "a.test")).samples
    assert [each.dropped for each in kept if each.text == "Sign up"] == [2]
    assert len(kept) == MAX_CHANGED


drawn = st.builds(
    TextSample,
    st.integers(0, 90) | st.integers(0, 8),
    st.text(st.characters(codec="utf-8"), max_size=5),
    st.integers(1, 50),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(drawn, max_size=80), max_size=6))
def test_samples_are_bounded_and_never_count_too_much(
    redis: RedisSettings, batches: list[list[TextSample]]
) -> None:
    flush(redis)

    async def check() -> None:
        await observe(redis, page("a.test", "/", *range(91)))
        async with open_samples(redis) as log:
            for samples in batches:
                log.note("a.test", samples)
                await log.write()
        kept = (await stored(redis, "a.test")).samples
        assert sum(each.dropped + each.saved > 0 for each in kept) <= MAX_CHANGED
        assert sum(each.dropped + each.saved == 0 for each in kept) <= MAX_REPEATED
        told = [each for samples in batches for each in samples]
        assert sum(each.dropped for each in kept) <= sum(each.dropped for each in told)
        if len({each.fingerprint for each in told}) <= MAX_CHANGED_AT_ONCE:
            assert sum(each.saved for each in kept) == sum(each.saved for each in told)

    asyncio.run(check())


async def test_a_full_redis_costs_samples_and_nothing_else(
    redis: RedisSettings, caplog: pytest.LogCaptureFixture
) -> None:
    flush(redis)
    await observe(redis, *pages("a.test", 4))
    async with open_samples(redis) as log:
        with closing(client(redis)) as connected:
            policy = connected.config_get("maxmemory-policy")
            connected.config_set("maxmemory-policy", "noeviction")
            connected.config_set("maxmemory", 1)
            try:
                log.note("a.test", [DROPPED])
                await log.write()
            finally:
                connected.config_set("maxmemory", 0)
                connected.config_set(*policy.popitem())
        log.note("a.test", [SAVED])
    assert "OOM" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert (await stored(redis, "a.test")).samples == (StoredSample("It grinds", 1, 0, 1),)


async def test_samples_are_kept_if_their_writing_is_cancelled_at_the_end(redis: RedisSettings) -> None:
    flush(redis)
    await observe(redis, *pages("a.test", 4))
    async with open_samples(redis) as log:
        log.note("a.test", [DROPPED])
        writing = asyncio.create_task(log.run(0))
        while log._sites:  # noqa: ASYNC110 until it is writing
            await asyncio.sleep(0)
        writing.cancel()
    (sample,) = (await stored(redis, "a.test")).samples
    assert (sample.text, sample.dropped) == ("Sign up", 1)


async def test_a_page_of_samples_is_one_call_per_site(redis: RedisSettings) -> None:
    flush(redis)
    await observe(redis, *pages("a.test", 4), *pages("b.test", 4))
    async with open_samples(redis) as log:
        await note(redis, "a.test", DROPPED)  # the server knows the script
        for _ in range(50):
            log.note("a.test", [DROPPED])
            log.note("b.test", [SAVED])
        with closing(client(redis)) as connected:
            connected.config_resetstat()
            await log.write()
            assert connected.info("commandstats")["cmdstat_evalsha"]["calls"] == 2


async def test_a_user_who_may_not_is_told(redis: RedisSettings) -> None:
    with closing(client(redis)) as connected:
        connected.execute_command("ACL SETUSER", "reader", "on", ">secret", "+ping", "+hello", "+client")
    refused = RedisSettings(redis.url.replace("//", "//reader:secret@"))
    for words in (["list"], ["show", "a.test"], ["forget", "a.test", "--yes"], ["export"]):
        assert "Redis refuses to say what it keeps of sites" in fail(refused, *words)
