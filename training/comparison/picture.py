"""Picture of F1 against CPU time a page, with labels beside the points."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from dehusk.streams.folders import writing
from dehusk.training.arrays import Bools, Doubles
from dehusk.training.comparison.summary import Row, Section

_GAP = 8.0
"""Least distance of a point and its label."""
_RADIUS = 4.0
"""Radius of a point."""
_PAD = 1.0
_CROSSED = 60.0
"""Distance that a line which crosses a label is worth."""
_COVERED = 1e4
"""Distance that a label over another one or a point, or beyond the picture, is worth."""
_STEPS = 60
"""Most lines of text between a point and its label."""
_COLUMNS = 2
_PANEL = (6.4, 4.6)
"""Size of a panel, in inches."""
_DPI = 120
_LEGEND = (
    "hollow, *: trained on pages of the collection; "
    "blue: models, orange: labelers without a model, grey: other extractors"
)
_COLOURS = {"model": "tab:blue", "labeler": "tab:orange", "extractor": "tab:gray"}


def place_labels(points: Doubles, sizes: Doubles, picture: Doubles) -> Doubles:
    """Return the box of each point's label, given its width and height: left, bottom, right, top, in pixels.

    Where there is room, labels cover neither each other nor points; they stand near their own.
    """
    dots = np.hstack([points - _RADIUS, points + _RADIUS])
    placed = np.empty((0, 4))
    for number, (point, size) in enumerate(zip(points, sizes, strict=True)):
        boxes = _beside(point, size)
        ends = nearest(boxes, point)
        taken, lines = np.vstack([dots, placed]), (points[:number], nearest(placed, points[:number]))
        padded = boxes + np.array([-_PAD, -_PAD, _PAD, _PAD])
        within = (picture[:2] <= padded[:, :2]).all(1) & (padded[:, 2:] <= picture[2:]).all(1)
        covered = meet(padded[:, None], taken).sum(1) + ~within
        crossed = are_crossed(padded[:, None], *lines).sum(1)
        crossed += are_crossed(taken, point, ends[:, None]).sum(1)
        cost = np.hypot(*(ends - point).T) + _CROSSED * crossed + _COVERED * covered
        best = np.lexsort((-boxes[:, 0], cost))[0]
        placed = np.vstack([placed, boxes[best]])
    return placed


def _beside(point: Doubles, size: Doubles) -> Doubles:
    """Return places of a label on the right and on the left of a point, and above and below these."""
    (x, y), (width, height) = point, size
    lefts = (x + _GAP, x - _GAP - width, x - width / 2)
    steps = np.arange(-_STEPS, _STEPS + 1) * ((height + 2 * _PAD) / 2)
    corners = np.array([(left, y + step - height / 2) for left in lefts for step in steps])
    return np.hstack([corners, corners + size])


def nearest(boxes: Doubles, points: Doubles) -> Doubles:
    """Return the place of each box that is nearest to its point, or to the only one."""
    return np.clip(points, boxes[..., :2], boxes[..., 2:])


def meet(one: Doubles, other: Doubles) -> Bools:
    """Return True for boxes that share some area."""
    return np.asarray(((one[..., :2] < other[..., 2:]) & (other[..., :2] < one[..., 2:])).all(-1))


def are_crossed(boxes: Doubles, starts: Doubles, ends: Doubles) -> Bools:
    """Return True for boxes that a line passes through."""
    with np.errstate(divide="ignore", invalid="ignore"):  # lines along an axis meet the other at infinity
        one, other = ((edges - starts) / (ends - starts) for edges in (boxes[..., :2], boxes[..., 2:]))
    first = np.maximum(np.minimum(one, other).max(-1), 0)
    last = np.minimum(np.maximum(one, other).min(-1), 1)
    found: Bools = first < last
    return found


def draw(sections: Sequence[Section], extractors: Sequence[str], file: Path) -> None:
    """Draw a panel for each collection: a point for each labeler, hollow where it was trained on the pages.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    with writing(file):
        figure_of(sections, extractors).savefig(file, dpi=_DPI)


def figure_of(sections: Sequence[Section], extractors: Sequence[str]) -> Figure:
    """Return the panels, with a name at each point."""
    columns = min(_COLUMNS, len(sections))
    lines = -(-len(sections) // columns)
    figure = Figure((_PANEL[0] * columns, _PANEL[1] * lines), dpi=_DPI, layout="constrained")
    panels = list(figure.subplots(lines, columns, squeeze=False).flat)
    for panel, section in zip(panels, sections, strict=False):
        _panel(panel, section, extractors)
    for panel in panels[len(sections) :]:
        panel.set_axis_off()
    figure.supxlabel(_LEGEND, fontsize=8)
    figure.draw_without_rendering()  # panels have their sizes only then
    for panel, section in zip(panels, sections, strict=False):
        _label(panel, section.rows)
    return figure


def _panel(panel: Axes, section: Section, extractors: Sequence[str]) -> None:
    panel.set_xscale("log")
    panel.set_title(f"{section.name}: {section.pages:,} pages", parse_math=False)
    panel.set_xlabel("CPU time, ms a page")
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_formatter("")
    panel.set_ylabel("word F1, ± its standard error")
    panel.grid(alpha=0.3)
    for row in section.rows:
        colour = _colour(row, extractors)
        panel.errorbar(
            row.milliseconds,
            row.f1.mean,
            yerr=row.f1.error,
            fmt="o",
            color=colour,
            markerfacecolor="white" if row.is_trained_on_them else colour,
            ecolor=(colour, 0.3),
        )
    _widen(panel, section.rows)


def _colour(row: Row, extractors: Sequence[str]) -> str:
    if row.name in extractors:
        return _COLOURS["extractor"]
    return _COLOURS["model" if "/" in row.name else "labeler"]


def _widen(panel: Axes, rows: Sequence[Row]) -> None:
    """Leave room for labels, most of it on the right."""
    times = [row.milliseconds for row in rows]
    low, high = min(times), max(times)
    spread = max(high / low, 2)
    panel.set_xlim(low / spread**0.2, high * spread**0.5)


def _label(panel: Axes, rows: Sequence[Row]) -> None:
    """Name the points, each by a label where it covers nothing, with a line from the point to it."""
    best_first = sorted(rows, key=lambda row: -row.f1.mean)
    points = panel.transData.transform([(row.milliseconds, row.f1.mean) for row in best_first])
    texts = [
        panel.text(
            0, 0, row.marked_name, transform=None, fontsize=8, va="bottom", in_layout=False, parse_math=False
        )
        for row in best_first
    ]
    sizes = np.array([text.get_window_extent().size for text in texts])
    boxes = place_labels(points, sizes, np.array(panel.bbox.extents))
    to_panel = panel.transAxes.inverted()
    for point, text, box in zip(points, texts, boxes, strict=True):
        text.set_transform(panel.transAxes)
        text.set_position(tuple(to_panel.transform(box[:2])))
        line = to_panel.transform((point, nearest(box, point)))
        panel.add_line(Line2D(*line.T, transform=panel.transAxes, linewidth=0.6, color="gray"))
