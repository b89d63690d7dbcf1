from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import Encoding
from dehusk.training.dehusk.examples import DehuskPage
from dehusk.training.scores import score_words


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
    words = tuple(tuple(score_words(text)) for text in segmented.texts)
    made = DehuskPage(
        id=str(number),
        collection="mills",
        site=f"mill{number}.example",
        page_type="article",
        stripped=False,
        words=words,
        gold=tuple(word for block, kept in zip(words, content, strict=True) if kept for word in block),
        has_gold=True,
        repaired=False,
        encoded=encode(segmented, (Encoding.WEB2TEXT,)),
        content=content,
        comment=np.zeros(len(content), np.bool_),
        uncertain=np.zeros(len(content), np.bool_),
        reliable=True,
        scripts={},
    )
    return replace(made, **changes)


@pytest.fixture(scope="session")
def pages():
    return [page(number) for number in range(12)]
