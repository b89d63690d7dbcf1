"""Sources of the demo's site: apt stands on PATH as a script that says what it was asked."""

from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.demo.sites import DOCUMENTATION, NAMES, SHIPPED, Site, find_site, serve

APT = """#!/bin/sh
echo "$*" >> "{asked}"
case "$*" in
  *"{package}") touch "{package}_1_all.deb" ;;
  *update) ;;
  *) echo "E: Unable to locate package" >&2; exit 100 ;;
esac
"""
DPKG = """#!/bin/sh
mkdir -p "content/usr/share/doc/{package}/html" && echo x > "content/usr/share/doc/{package}/html/index.html"
"""


def install(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(script)
    (folder / name).chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of programs before those of the system."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def offer(programs: Path, package: str) -> Path:
    """Let apt have this package alone; returns the file of what it was asked."""
    asked = programs / "asked"
    install(programs, "apt-get", APT.format(asked=asked, package=package))
    install(programs, "dpkg-deb", DPKG.format(package=package.removesuffix("-doc")))
    return asked


def test_the_first_package_that_apt_has_is_unpacked(programs: Path, tmp_path: Path) -> None:
    asked = offer(programs, "python3.13-doc")
    site = find_site("python", tmp_path / "cache")
    assert (site.directory / site.start).read_text() == "x\n"
    assert asked.read_text().splitlines() == ["download python3.11-doc", "download python3.13-doc"]


def test_a_cache_that_cannot_be_written_is_named() -> None:
    with pytest.raises(ConfigurationError, match="cannot write /proc/nope"):
        find_site("python", Path("/proc/nope"))
    assert "cannot write /proc/nope" in find_site("auto", Path("/proc/nope")).instead


def test_what_was_fetched_once_is_not_fetched_again(programs: Path, tmp_path: Path) -> None:
    asked = offer(programs, "python3.11-doc")
    first = find_site("python", tmp_path / "cache")
    asked.unlink()
    assert find_site("python", tmp_path / "cache") == first
    assert not asked.exists()


def test_a_cache_without_its_documentation_is_named(tmp_path: Path) -> None:
    (tmp_path / "sites" / "python").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="remove it, to fetch it again"):
        find_site("python", tmp_path)
    assert find_site("auto", tmp_path).name == "shipped"


def test_without_package_lists_apt_is_given_lists_of_our_own(programs: Path, tmp_path: Path) -> None:
    asked = offer(programs, "python3.11-doc")
    script = (programs / "apt-get").read_text()
    install(programs, "apt-get", script.replace('*"python3.11-doc")', '--option*"python3.11-doc")'))
    find_site("python", tmp_path / "cache")
    update, download = asked.read_text().splitlines()[-2:]
    assert update.startswith(f"--option Dir::State::Lists={tmp_path}")
    assert update.endswith("update")
    assert download.endswith("download python3.11-doc")


def test_a_site_that_cannot_be_had_is_named_with_what_apt_said(programs: Path, tmp_path: Path) -> None:
    offer(programs, "nothing")
    with pytest.raises(UnavailableError, match="Unable to locate package"):
        find_site("apache", tmp_path)


def test_auto_takes_the_shipped_site_where_there_is_no_apt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    site = find_site("auto", tmp_path / "cache")
    assert site.name == "shipped"
    assert site.instead.startswith("Python's documentation cannot be had: apt-get is not on this machine")
    with pytest.raises(UnavailableError, match="--site shipped"):
        find_site("python", tmp_path / "cache")


def test_a_failed_fetch_leaves_nothing_that_counts_as_fetched(programs: Path, tmp_path: Path) -> None:
    offer(programs, "python3.11-doc")
    install(programs, "dpkg-deb", "#!/bin/sh\nmkdir content; exit 2\n")
    with pytest.raises(UnavailableError):
        find_site("python", tmp_path / "cache")
    assert list((tmp_path / "cache" / "sites").iterdir()) == []


def test_what_a_killed_fetch_left_is_removed_by_the_next(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(programs, "python3.11-doc")
    with monkeypatch.context() as killed:
        killed.setattr("shutil.rmtree", lambda *_, **__: None)
        killed.setattr("os.rmdir", lambda *_, **__: None)
        killed.setenv("PATH", str(tmp_path))
        with pytest.raises(UnavailableError):
            find_site("python", tmp_path / "cache")
    assert len(list((tmp_path / "cache" / "sites").iterdir())) == 1
    find_site("python", tmp_path / "cache")
    assert [each.name for each in (tmp_path / "cache" / "sites").iterdir()] == ["python"]


def test_every_site_has_a_name() -> None:
    assert set(NAMES) == {"auto", "shipped", *DOCUMENTATION}


def test_the_shipped_site_is_written_where_it_is_served(tmp_path: Path) -> None:
    root = find_site("shipped", tmp_path / "cache").root(tmp_path / "site")
    assert root == tmp_path / "site"
    assert (root / SHIPPED.start).is_file()
    assert not (tmp_path / "cache").exists()


def test_a_site_on_disk_is_served_from_there(tmp_path: Path) -> None:
    assert Site("python", Path("/usr/share")).root(tmp_path / "site") == Path("/usr/share")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_for_the_shipped_site_that_cannot_be_written_is_named() -> None:
    with pytest.raises(ConfigurationError, match="cannot write /proc/nope"):
        SHIPPED.root(Path("/proc/nope"))


def test_a_page_is_served_with_its_content_type(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>hello")
    with serve(tmp_path) as url, urlopen(f"{url}index.html") as answer:
        assert answer.read() == b"<p>hello"
        assert answer.headers.get_content_type() == "text/html"
        assert url.startswith("http://127.0.0.1:")


def test_what_is_not_there_is_a_404_and_what_is_outside_too(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "secret.html").write_text("no")
    with serve(site) as url:
        for path in ("missing.html", "../secret.html", "%2e%2e/secret.html"):
            with pytest.raises(HTTPError, match="404") as caught:
                urlopen(url + path)
            caught.value.close()


def test_nobody_answers_afterwards(tmp_path: Path) -> None:
    with serve(tmp_path) as url:
        pass
    with pytest.raises(URLError, match="refused"):
        urlopen(url)
