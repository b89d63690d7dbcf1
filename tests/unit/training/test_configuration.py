import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.configuration import read_tables


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
