"""Types of the arrays that training computes with."""

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
