import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest

from dehusk.schemas.documents import Origin, TextSample
from dehusk.schemas.pages import Message
from dehusk.schemas.pickled import BESIDE_BYTES, PickledByFields, PickledWithArrays


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


@dataclass(frozen=True, slots=True, eq=False)
class Columns(PickledWithArrays):
    flags: object
    name: str
    counts: object = None
    shares: object = field(default=None, kw_only=True)


COLUMNS = [
    pytest.param(Columns(np.array([True]), "a", np.arange(3, dtype=np.uint16), shares=(4,)), id="unaligned"),
    pytest.param(Columns(np.zeros(0, np.bool_), "", np.zeros((2, 0), np.uint64)), id="empty"),
    pytest.param(Columns(None, "b", shares=np.float32(0.5)), id="no array"),
    pytest.param(Columns(None, "c", np.arange(12).reshape(3, 4).T, shares=np.arange(9)[::2]), id="strided"),
    pytest.param(Columns(np.arange(3, dtype=">u4"), "d", np.float16([0.5, np.nan])), id="of other order"),
    pytest.param(Columns(np.ones(5, np.uint8), "e", np.arange(BESIDE_BYTES)), id="large"),
]


@pytest.mark.parametrize("value", COLUMNS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_that_were_pickled_together_are_as_they_were(value: Columns, protocol: int) -> None:
    found = pickle.loads(pickle.dumps(value, protocol))
    assert found.name == value.name
    for restored, original in [
        (found.flags, value.flags),
        (found.counts, value.counts),
        (found.shares, value.shares),
    ]:
        assert type(restored) is type(original)
        np.testing.assert_array_equal(restored, original)
        if isinstance(original, np.ndarray):
            assert restored.dtype == original.dtype.newbyteorder("=")
            assert restored.flags.aligned
            assert restored.flags.c_contiguous


def test_arrays_share_one_buffer() -> None:
    buffers: list[pickle.PickleBuffer] = []
    value = Columns(np.ones(5, np.uint8), "a", np.arange(BESIDE_BYTES), shares=np.ones(9))
    pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append)
    (buffer,) = buffers
    found = pickle.loads(pickled, buffers=buffers)
    for array in (found.flags, found.counts, found.shares):
        assert np.shares_memory(array, np.frombuffer(buffer.raw(), np.uint8))
