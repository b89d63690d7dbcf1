from dataclasses import replace

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.dehusk.config import DEFAULT_CONFIG, DehuskConfig
from dehusk.training.runs import read_scores, read_sources, read_tables, write_scores, write_sources


def test_the_tables_are_given_on(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("kind = 'x'\n[network]\nhidden = 8\n")
    assert read_tables(file, lambda tables: (tables["kind"], tables["network"]["hidden"])) == ("x", 8)


@pytest.mark.parametrize("content", ["[network", "[network]\n", "[network]\nhidden = 8\nwidth = 9\n"])
def test_a_file_that_does_not_fit_is_named(tmp_path, content):
    def make(tables):
        def network(*, hidden):
            return hidden

        return network(**tables["network"])

    file = tmp_path / "run.toml"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=r"run\.toml is no training configuration: "):
        read_tables(file, make)


def test_scores_are_those_of_their_configuration_and_data(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"mill")
    write_sources([tmp_path / "a.jsonl"], tmp_path)
    file, config = tmp_path / "scores.json", DehuskConfig.read(DEFAULT_CONFIG)
    write_scores(file, config, "| F1 |")
    assert read_scores("cross-validate", file, config) == "| F1 |"
    other = replace(config, answer=replace(config.answer, offset=0.0))
    with pytest.raises(ConfigurationError, match=r"run `python -m training cross-validate` again"):
        read_scores("cross-validate", file, other)
    (tmp_path / "a.jsonl").write_bytes(b"wheel")
    write_sources([tmp_path / "a.jsonl"], tmp_path)
    with pytest.raises(ConfigurationError, match="other data"):
        read_scores("cross-validate", file, config)


@pytest.mark.parametrize("table", ["trainers", "date"])
def test_a_table_that_is_none_is_named(tmp_path, table):
    file = tmp_path / "run.toml"
    file.write_text(f"{DEFAULT_CONFIG.read_text()}\n[{table}]\n")
    with pytest.raises(ConfigurationError, match=f"run.toml is no training configuration: .* table {table}"):
        DehuskConfig.read(file)


def test_each_file_is_named_with_the_digest_of_what_it_holds(tmp_path):
    (tmp_path / "a.xz").write_bytes(b"mill")
    (tmp_path / "b.xz").write_bytes(b"wheel")
    write_sources([tmp_path / "a.xz", tmp_path / "b.xz"], tmp_path)
    first, second = read_sources(tmp_path)
    assert first == "a.xz (SHA-256 901fac08e3b464b1…)"
    assert second.startswith("b.xz (SHA-256 ")
    assert second[-18:] != first[-18:]


def test_where_nothing_was_prepared_the_command_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="training prepare"):
        read_sources(tmp_path)
