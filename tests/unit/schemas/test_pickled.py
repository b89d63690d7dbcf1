import pickle
from dataclasses import dataclass, field

import pytest

from dehusk.schemas.documents import Origin, TextSample
from dehusk.schemas.pages import Message
from dehusk.schemas.pickled import PickledByFields


@dataclass(frozen=True, slots=True)
class Named(PickledByFields):
    name: str
    parts: tuple[Origin, ...] = field(default=(), repr=False, compare=False)


@pytest.mark.parametrize(
    "value",
    [
        Message(b"key", None, (("url", b"https://a.test/"),), "raw", 2, 3),
        TextSample(1 << 63, "Sign up", 3, saved=True),
        Origin("raw", 0, 7),
    ],
)
@pytest.mark.parametrize("protocol", [pickle.DEFAULT_PROTOCOL, pickle.HIGHEST_PROTOCOL])
def test_what_was_pickled_is_as_it_was(value: PickledByFields, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(value, protocol)) == value


def test_fields_that_are_not_compared_are_pickled_too() -> None:
    found = pickle.loads(pickle.dumps(Named("a", (Origin("raw", 0, 7),))))
    assert found.parts == (Origin("raw", 0, 7),)
