import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.sources import sources, write_sources


def test_each_file_is_named_with_the_digest_of_what_it_holds(tmp_path):
    (tmp_path / "a.xz").write_bytes(b"mill")
    (tmp_path / "b.xz").write_bytes(b"wheel")
    write_sources([tmp_path / "a.xz", tmp_path / "b.xz"], tmp_path)
    first, second = sources(tmp_path)
    assert first == "a.xz (SHA-256 901fac08e3b464b1…)"
    assert second.startswith("b.xz (SHA-256 ")
    assert second[-18:] != first[-18:]


def test_where_nothing_was_prepared_the_command_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="training prepare"):
        sources(tmp_path)
