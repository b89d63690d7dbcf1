from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import Encoding
from tests.unit.training.prepared import labeled


@pytest.fixture(scope="session")
def config_file():
    return Path(__file__).parents[4] / "training" / "web2text" / "web2text.toml"


def page(number, **changes):
    """A page with a menu and an article; different from site to site."""
    menu = "".join(f"<li><a href=/{k}>Menu {k} of {number}</a></li>" for k in range(4))
    body = "".join(
        f"<p>The mill of {number} grinds slowly, but it grinds fine. Part {k}.</p>" for k in range(3)
    )
    html = f"<html><body><ul class=n{number}>{menu}</ul><div>{body}</div><p>Imprint {number}</body></html>"
    segmented = segment(html.encode(), with_tree=True)
    content = np.array(["mill" in text for text in segmented.texts])
    made = labeled(number, segmented, content)
    encoded = encode(segmented, (Encoding.WEB2TEXT,))
    return replace(made, encoded=encoded, **changes)


@pytest.fixture(scope="session")
def pages():
    return [page(number) for number in range(12)]
