"""Labelers that processes open by name, some of which hang on pages that say so."""

import os
import time
from itertools import repeat

import numpy as np

from dehusk.training.comparison.labelers import Outcome


class Labeler:
    """A labeler that takes all for content, but for what its name says of pages on which it is."""

    def __init__(self, name):
        self.name = name

    def extract(self, page):
        if self.name.encode() in page.html:
            MISHAPS[self.name]()
        return Outcome("The mill", None)

    def units(self, question, _outcome):
        return np.ones(len(question.units), np.bool_)


def compute():
    """Hang in native code that never lets Python look for signals."""
    sum(repeat(0))


def wait():
    time.sleep(3600)


def die():
    os._exit(3)


MISHAPS = {"compute": compute, "wait": wait, "die": die}


def refuse(name):
    """Open no labeler."""
    raise OSError(name)
