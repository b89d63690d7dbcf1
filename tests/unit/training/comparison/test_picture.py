from itertools import combinations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.comparison.picture import draw, figure_of
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
