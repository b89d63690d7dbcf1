import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.dehusk.first_pass import steps_of

pytestmark = pytest.mark.training


@pytest.mark.parametrize(
    ("html", "steps"),
    [
        ("<ul><li>Home<li>News<li>About us</ul>", [0, 0, 0]),
        ("<p>one two three four five six seven eight<p>and one more", [0, 0]),
        ("<p>one two three four five six seven eight nine<p>and<p>one more", [0, 1, 1]),
        ("<p>Mills<h2>Grain</h2><p>Wheels", [0, 1, 2]),
        ("<ul><li>Home<li>News</ul><p>Mills<ul><li>Home<li>News</ul>", [0, 0, 1, 2, 2]),
        ("<p>Mills", [0]),
    ],
)
def test_short_blocks_of_the_same_elements_share_a_step(html, steps):
    structure = encode(segment(f"<body>{html}".encode())).structure
    assert steps_of(structure).tolist() == steps
