import numpy as np
import numpy.typing as npt

def columns_of(
    values: list[float], lowest: npt.NDArray[np.float64], steps: npt.NDArray[np.float64]
) -> npt.NDArray[np.uint8]: ...
