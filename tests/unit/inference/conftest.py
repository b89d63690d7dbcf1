from collections.abc import Callable

import pytest

from dehusk.inference.segmentation.segmentation import segment

Hidden = Callable[[str], list[tuple[str, bool]]]


@pytest.fixture
def hidden() -> Hidden:
    """The blocks of a page, and whether each is not shown at first."""

    def of(html: str) -> list[tuple[str, bool]]:
        page = segment(html.encode())
        return list(zip(page.texts, page.hidden, strict=True))

    return of
