import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.kinds import kind_of


@pytest.mark.parametrize(
    ("content", "told"),
    [("", "'kind'"), ('kind = "other"', "no kind 'other' of model"), ("kind", "Expected")],
)
def test_a_file_that_names_no_kind_that_is_known_is_no_configuration(tmp_path, content, told):
    file = tmp_path / "run.toml"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=f"run.toml .*{told}"):
        kind_of(file)
