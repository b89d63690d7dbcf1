from codegen.__main__ import FEATURES_PATH, features
from dehusk.inference.features import BLOCK_FEATURES


def test_the_columns_are_those_of_the_features() -> None:
    assert FEATURES_PATH.read_text() == features()


def test_every_feature_has_its_column() -> None:
    lines = features().splitlines()
    assert lines[-len(BLOCK_FEATURES)].split() == ["LOG_WORDS", "=", "0"]
    assert lines[-1].split() == [BLOCK_FEATURES[-1].name.upper(), "=", str(len(BLOCK_FEATURES) - 1)]
