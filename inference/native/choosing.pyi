import numpy as np
import numpy.typing as npt

def are_probabilities(values: npt.NDArray[np.float32]) -> bool: ...
def rounded(probabilities: npt.NDArray[np.float32], digits: int) -> npt.NDArray[np.float64]: ...
def likely_comments(
    comments: npt.NDArray[np.float64],
    words: npt.NDArray[np.uint32],
    alike: npt.NDArray[np.int32],
    likely: float,
    among_likely: float,
) -> npt.NDArray[np.bool_]: ...
def headings_within(
    headings: npt.NDArray[np.uint8],
    content: npt.NDArray[np.uint8],
    probabilities: npt.NDArray[np.float64],
    hidden: npt.NDArray[np.uint8],
    repeat: npt.NDArray[np.int32],
    least: float,
) -> npt.NDArray[np.bool_]: ...
def symbols_within(
    words: npt.NDArray[np.uint32],
    content: npt.NDArray[np.uint8],
    probabilities: npt.NDArray[np.float64],
    repeat: npt.NDArray[np.int32],
    least: float,
) -> npt.NDArray[np.bool_]: ...
def leave_repeats_out(
    probabilities: npt.NDArray[np.float64], repeat: npt.NDArray[np.int32], better: float
) -> None: ...
def expected_words(probabilities: npt.NDArray[np.float64], words: npt.NDArray[np.uint32]) -> float: ...
def expected_f1_of(
    probabilities: npt.NDArray[np.float64], words: npt.NDArray[np.uint32], content: npt.NDArray[np.uint8]
) -> float | None: ...
def most_probable(probabilities: npt.NDArray[np.float64], words: npt.NDArray[np.uint32]) -> float: ...
def best_expected_f(
    probabilities: npt.NDArray[np.float64], words: npt.NDArray[np.uint32], expected: float, beta: float
) -> float: ...
