# cython: language_level=3, cdivision=True
"""Columns as bytes: each range of `inference.features` is mapped onto 0 … 255."""

import secrets

from libc.math cimport floor, log1p
from libc.stdint cimport uint8_t

from inference import features

MOST = features.LOGARITHM[1]
for _value in range(COMMON):
    LOGARITHMS[_value] = <uint8_t> floor(min(log1p(_value) / MOST, 1.0) * 255 + 0.5)
SEED[0], SEED[1] = secrets.randbits(64), secrets.randbits(64)
