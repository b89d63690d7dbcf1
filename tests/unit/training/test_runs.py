import os
from dataclasses import replace
from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training import runs
from dehusk.training.boilernet.config import DEFAULT_CONFIG as BOILERNET_CONFIG
from dehusk.training.boilernet.config import BoilerNetConfig
from dehusk.training.dehusk.config import DEFAULT_CONFIG, DehuskConfig
from dehusk.training.runs import (
    Preparation,
    read_pages,
    read_records,
    read_scores,
    read_sources,
    read_tables,
    write_pages,
    write_records,
    write_scores,
    written_whole,
)
from dehusk.training.web2text.config import Web2TextConfig

CONFIG = DehuskConfig.read(DEFAULT_CONFIG)


def prepare(directory, *files, config=CONFIG, pages=("page",)):
    write_pages(Preparation(files, directory, DEFAULT_CONFIG, 1), config, pages)


def test_the_tables_are_given_on(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("kind = 'x'\n[network]\nhidden = 8\n")
    assert read_tables(file, lambda tables: (tables["kind"], tables["network"]["hidden"])) == ("x", 8)


@pytest.mark.parametrize(
    "content",
    [b"[network", b"[network]\n", b"[network]\nhidden = 8\nwidth = 9\n", b"# M\xfchle"],
)
def test_a_file_that_does_not_fit_is_named(tmp_path, content):
    def make(tables):
        def network(*, hidden):
            return hidden

        return network(**tables["network"])

    file = tmp_path / "run.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"run\.toml is no training configuration: "):
        read_tables(file, make)


def test_scores_are_those_of_their_configuration_and_data(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"mill")
    prepare(tmp_path, tmp_path / "a.jsonl")
    file = tmp_path / "scores.json"
    write_scores(file, CONFIG, "| F1 |")
    assert read_scores("cross-validate", file, CONFIG) == "| F1 |"
    other = replace(CONFIG, answer=replace(CONFIG.answer, offset=0.0))
    with pytest.raises(ConfigurationError, match=r"run `python -m training cross-validate` again"):
        read_scores("cross-validate", file, other)
    (tmp_path / "a.jsonl").write_bytes(b"wheel")
    prepare(tmp_path, tmp_path / "a.jsonl")
    with pytest.raises(ConfigurationError, match="other data"):
        read_scores("cross-validate", file, CONFIG)


@pytest.mark.parametrize("table", ["trainers", "date"])
def test_a_table_that_is_none_is_named(tmp_path, table):
    file = tmp_path / "run.toml"
    file.write_text(f"{DEFAULT_CONFIG.read_text()}\n[{table}]\n")
    with pytest.raises(ConfigurationError, match=f"run.toml is no training configuration: .* table {table}"):
        DehuskConfig.read(file)


def test_each_file_is_named_with_the_digest_of_what_it_holds(tmp_path):
    (tmp_path / "a.xz").write_bytes(b"mill")
    (tmp_path / "b.xz").write_bytes(b"wheel")
    prepare(tmp_path, tmp_path / "a.xz", tmp_path / "b.xz")
    first, second = read_sources(tmp_path)
    assert first == "a.xz (SHA-256 901fac08e3b464b1…)"
    assert second.startswith("b.xz (SHA-256 ")
    assert second[-18:] != first[-18:]


def test_where_nothing_was_prepared_the_command_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="training prepare"):
        read_sources(tmp_path)


def test_pages_are_read_by_the_settings_that_they_were_prepared_with(tmp_path):
    prepare(tmp_path, pages=["one", "other"])
    assert list(read_pages(tmp_path, CONFIG)) == ["one", "other"]
    retrained = replace(CONFIG, trainer=replace(CONFIG.trainer, epochs=1))
    assert list(read_pages(tmp_path, retrained)) == ["one", "other"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (
            replace(CONFIG, data=replace(CONFIG.data, least_oracle=0.5)),
            "least_oracle = 0.7, and the configuration has least_oracle = 0.5;",
        ),
        (
            BoilerNetConfig.read(BOILERNET_CONFIG),
            "kind = dehusk, held_out = none, and the configuration has kind = boilernet, held_out = 0.2;",
        ),
        (
            BoilerNetConfig.read(BOILERNET_CONFIG.with_name("boilernet-cleaneval.toml")),
            "kind = dehusk, content_share = 0.6666, least_oracle = 0.7, and the configuration has "
            "kind = boilernet, content_share = none, least_oracle = none;",
        ),
    ],
)
def test_pages_of_another_kind_of_model_or_of_other_settings_are_refused(tmp_path, wanted, told):
    prepare(tmp_path)
    with pytest.raises(ConfigurationError) as refused:
        list(read_pages(tmp_path, wanted))
    assert f"{tmp_path} was prepared with {told} run `python -m training prepare` again" in str(refused.value)


def test_a_run_without_pages_names_its_files(tmp_path):
    (tmp_path / "empty.jsonl").touch()
    prepare(tmp_path, tmp_path / "empty.jsonl", pages=[])
    with pytest.raises(
        ConfigurationError, match=r"has no pages, as empty\.jsonl .*; run .* with other files"
    ):
        list(read_pages(tmp_path, CONFIG))


def test_pages_of_an_earlier_version_which_noted_no_settings_are_refused(tmp_path):
    write_records(tmp_path / "pages.pickle", ["page"])
    with pytest.raises(ConfigurationError, match=r"pages\.pickle is damaged, or another version"):
        list(read_pages(tmp_path, CONFIG))


def test_records_that_are_cut_anywhere_are_named(tmp_path):
    file = tmp_path / "records.pickle"
    write_records(file, ["one", ("other", 2)])
    whole = file.read_bytes()
    assert list(read_records("prepare", file)) == ["one", ("other", 2)]
    for end in range(len(whole)):
        file.write_bytes(whole[:end])
        with pytest.raises(ConfigurationError, match=r"records\.pickle is damaged.* training prepare` again"):
            list(read_records("prepare", file))


@pytest.mark.parametrize(
    "written", [b"", b'{"run": {}', b"{}", b"[1]", b"\xff", b'{"run": "\xff", "scores": ""}']
)
def test_scores_that_are_not_whole_are_named(tmp_path, written):
    prepare(tmp_path)
    (tmp_path / "scores.json").write_bytes(written)
    with pytest.raises(ConfigurationError, match=r"scores\.json is damaged.* training evaluate` again"):
        read_scores("evaluate", tmp_path / "scores.json", CONFIG)


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    file, synced = tmp_path / "file", []

    def sync(opened):
        synced.append((Path(f"/proc/self/fd/{opened}").readlink(), file.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    with written_whole(file) as target:
        target.write(b"mill")
    assert synced == [(tmp_path / "file.partial", False), (tmp_path, True)]


@pytest.mark.parametrize("read", [DehuskConfig.read, BoilerNetConfig.read, Web2TextConfig.read])
@pytest.mark.parametrize(("seed", "told"), [("-1", "-1"), ("2147483648", "2147483648"), ("0.5", "0.5")])
def test_a_seed_that_no_random_generator_takes_is_named(tmp_path, read, seed, told):
    kind = read.__self__.kind
    published = (Path(runs.__file__).parent / kind / f"{kind}.toml").read_text()
    file = tmp_path / "run.toml"
    changed = published.replace("\nseed = 1", f"\nseed = {seed}").replace(
        "\nseeds = [1", f"\nseeds = [{seed}"
    )
    file.write_text(changed)
    with pytest.raises(ConfigurationError, match=f"whole number from 0 to 2147483647, not {told}"):
        read(file)
