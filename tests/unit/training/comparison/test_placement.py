import random
from itertools import combinations

import pytest

from dehusk.training.comparison.placement import Box, Line, Point, place_labels

PICTURE = Box(0, 0, 600, 400)
SIZE = (80, 12)


def placed(*points):
    return place_labels([Point(*each) for each in points], [SIZE] * len(points), PICTURE)


def test_a_label_stands_on_the_right_of_its_point_where_there_is_room():
    assert placed((100, 100)) == [Box(108, 94, 188, 106)]


@pytest.mark.parametrize("point", [(590, 100), (590, 396), (590, 3)])
def test_a_label_stays_within_the_picture(point):
    (box,) = placed(point)
    assert PICTURE.holds(box)
    assert box.right < 590


@pytest.mark.parametrize("spread", [0, 5, 40])
def test_labels_of_a_crowd_cover_neither_each_other_nor_points_and_stand_near(spread):
    drawn = random.Random(spread)
    points = [Point(300 + spread * drawn.random(), 200 + spread * drawn.random()) for _ in range(24)]
    boxes = place_labels(points, [SIZE] * 24, PICTURE)
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))
    assert not any(box.left < x < box.right and box.bottom < y < box.top for box in boxes for x, y in points)
    assert all(PICTURE.holds(box) for box in boxes)
    distances = [abs(box.nearest(point).y - point.y) for point, box in zip(points, boxes, strict=True)]
    assert max(distances) < 200


def test_where_there_is_no_room_every_point_has_a_label_still():
    assert len(place_labels([Point(10, 10)] * 9, [(80, 12)] * 9, Box(0, 0, 20, 20))) == 9


@pytest.mark.parametrize(
    ("line", "crosses"),
    [
        (((0, 5), (20, 5)), True),
        (((0, 0), (20, 20)), True),
        (((5, 0), (5, 20)), False),
        (((0, 5), (9, 5)), False),
        (((12, 0), (12, 3)), True),
        (((0, 9), (3, 20)), False),
    ],
)
def test_lines_that_pass_through_a_box(line, crosses):
    assert Box(10, 0, 15, 15).is_crossed(Line(*(Point(*each) for each in line))) is crosses
