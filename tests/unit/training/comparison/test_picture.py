import random
from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.comparison.picture import are_crossed, draw, figure_of, meet, nearest, place_labels
from dehusk.training.comparison.summary import summaries
from tests.unit.training.comparison.judged import judgement, page


@pytest.mark.parametrize("collections", ["a", "ab", "abc"])
def test_a_picture_has_a_panel_for_each_collection_and_a_name_for_each_labeler(tmp_path, collections):
    scores = {"rules": judgement(0.6, milliseconds=2), "dehusk/7": judgement(0.9, milliseconds=5)}
    pages = [page(number, name, **scores) for number in range(2) for name in collections]
    sections = [each.whole for each in summaries(pages, {"a": {"dehusk/7"}})]
    draw(sections, ["trafilatura"], tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    draw(sections, [], tmp_path / "chart.svg")
    drawn = (tmp_path / "chart.svg").read_text()
    assert all(f"<!-- {name}: 2 pages -->" in drawn for name in collections)
    assert drawn.count("<!-- rules -->") == drawn.count("<!-- CPU time, ms a page -->") == len(collections)
    assert "<!-- 0.0 -->" not in drawn  # as on the axes of a panel without points
    assert drawn.count("<!-- dehusk/7 * -->") == 1


def test_a_picture_of_one_site_has_no_errors_to_show(tmp_path):
    pages = [page(number, site="same", rules=judgement(0.6, milliseconds=2)) for number in range(2)]
    draw([each.whole for each in summaries(pages, {})], [], tmp_path / "chart.png")
    assert (tmp_path / "chart.png").stat().st_size > 1000


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    pages = [page(1, rules=judgement(0.6, milliseconds=2))]
    with pytest.raises(ConfigurationError, match="cannot write"):
        draw([each.whole for each in summaries(pages, {})], [], tmp_path / "none" / "chart.png")


def test_names_of_points_that_are_close_do_not_overlap():
    scores = {f"model-{n}/{n}": judgement(0.8 + n / 5000, milliseconds=5 + n / 50) for n in range(20)}
    sections = [each.whole for each in summaries([page(1, **scores)], {"a": {"model-3/3"}})]
    figure = figure_of(sections, [])
    figure.set_canvas(FigureCanvasAgg(figure))
    figure.canvas.draw()
    (panel,) = figure.axes
    boxes = {text.get_text(): text.get_window_extent() for text in panel.texts}
    assert set(boxes) == {each.replace("3/3", "3/3 *") if each == "model-3/3" else each for each in scores}
    assert [pair for pair in combinations(boxes, 2) if boxes[pair[0]].overlaps(boxes[pair[1]])] == []
    assert all(panel.bbox.x0 <= box.x0 and box.x1 <= panel.bbox.x1 for box in boxes.values())


PICTURE = np.array([0.0, 0.0, 600.0, 400.0])

SIZE = (80, 12)


def placed(*points, picture=PICTURE):
    return place_labels(np.array(points, float), np.array([SIZE] * len(points), float), picture)


def is_within_the_picture(box):
    return (PICTURE[:2] <= box[:2]).all() and (box[2:] <= PICTURE[2:]).all()


def test_a_label_stands_on_the_right_of_its_point_where_there_is_room():
    assert placed((100, 100)).tolist() == [[108, 94, 188, 106]]


@pytest.mark.parametrize("point", [(590, 100), (590, 396), (590, 3)])
def test_a_label_stays_within_the_picture(point):
    (box,) = placed(point)
    assert is_within_the_picture(box)
    assert box[2] < 590


@pytest.mark.parametrize("spread", [0, 5, 40])
def test_labels_of_a_crowd_cover_neither_each_other_nor_points_and_stand_near(spread):
    drawn = random.Random(spread)
    points = [(300 + spread * drawn.random(), 200 + spread * drawn.random()) for _ in range(24)]
    boxes = placed(*points)
    assert not any(meet(one, other) for one, other in combinations(boxes, 2))
    covered = [left < x < right and bottom < y < top for left, bottom, right, top in boxes for x, y in points]
    assert not any(covered)
    assert all(map(is_within_the_picture, boxes))
    assert np.abs(nearest(boxes, np.array(points)) - points)[:, 1].max() < 200


def test_where_there_is_no_room_every_point_has_a_label_still():
    assert len(placed(*[(10, 10)] * 9, picture=np.array([0.0, 0.0, 20.0, 20.0]))) == 9


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
    assert bool(are_crossed(np.array([10, 0, 15, 15]), *np.array(line))) is crosses
