"""F1 against CPU time a page, as a picture."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.comparison.placement import Box, Point, place_labels
from dehusk.training.comparison.summary import Row, Section

_COLUMNS = 2
_PANEL = (6.4, 4.6)
"""Inches."""
_DPI = 120
_LEGEND = (
    "hollow, *: trained on pages of the collection; "
    "blue: models, orange: labelers without a model, grey: other extractors"
)
_COLOURS = {"model": "tab:blue", "labeler": "tab:orange", "extractor": "tab:gray"}


def draw(sections: Sequence[Section], extractors: Sequence[str], file: Path) -> None:
    """Draw a panel for each collection: a point for each labeler, hollow where it was trained on the pages.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    try:
        figure_of(sections, extractors).savefig(file, dpi=_DPI)
    except OSError as error:
        raise ConfigurationError(f"cannot write {file}: {error.strerror}") from error


def figure_of(sections: Sequence[Section], extractors: Sequence[str]) -> Figure:
    """The panels, with a name at each point."""
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
    panel.set_title(f"{section.name}: {section.pages:,} pages")
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
    points = [Point(*panel.transData.transform((row.milliseconds, row.f1.mean))) for row in best_first]
    texts = [
        panel.text(0, 0, row.marked_name, transform=None, fontsize=8, va="bottom", in_layout=False)
        for row in best_first
    ]
    extents = [text.get_window_extent() for text in texts]
    picture = Box(*panel.bbox.extents)
    boxes = place_labels(points, [(each.width, each.height) for each in extents], picture)
    to_panel = panel.transAxes.inverted()
    for point, text, box in zip(points, texts, boxes, strict=True):
        text.set_transform(panel.transAxes)
        text.set_position(tuple(to_panel.transform((box.left, box.bottom))))
        line = to_panel.transform((point, box.nearest(point)))
        panel.add_line(Line2D(*line.T, transform=panel.transAxes, linewidth=0.6, color="gray"))
