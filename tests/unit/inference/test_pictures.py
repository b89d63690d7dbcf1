import pytest

from dehusk.inference.pictures import address_of


@pytest.mark.parametrize(
    ("attributes", "address"),
    [
        ({"src": " a "}, "a"),
        ({"src": "a", "data-src": "b"}, "b"),
        ({"src": "data:image/gif;base64,AA", "srcset": "a 1x, b 2x"}, "a"),
        ({"src": "a", "srcset": "b"}, "a"),
        ({"data-srcset": "a, b 2x"}, "a"),
        ({"src": "a", "width": "100%"}, "a"),
        ({"src": "a", "width": "17", "height": "600"}, "a"),
        ({"src": "a", "width": "600", "height": "1"}, None),
        ({"src": "a", "width": "16px"}, None),
        ({"src": "DATA:x"}, None),
        ({"srcset": " "}, None),
        ({}, None),
    ],
)
def test_an_image_has_the_address_that_a_script_would_load(
    attributes: dict[str, str], address: str | None
) -> None:
    assert address_of(attributes) == address
