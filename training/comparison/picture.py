"""F1 against CPU time a page, as a picture."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.comparison.summary import Row, Section

_COLUMNS = 2
_PANEL = (6.4, 4.6)
"""Inches."""
_LINE = 0.045
"""The height of a label, as a share of the panel's."""
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
    columns = min(_COLUMNS, len(sections))
    lines = -(-len(sections) // columns)
    figure = Figure((_PANEL[0] * columns, _PANEL[1] * lines), layout="constrained")
    panels = list(figure.subplots(lines, columns, squeeze=False).flat)
    for panel, section in zip(panels, sections, strict=False):
        _panel(panel, section, extractors)
    for panel in panels[len(sections) :]:
        panel.set_axis_off()
    figure.supxlabel(_LEGEND, fontsize=8)
    try:
        figure.savefig(file, dpi=120)
    except OSError as error:
        raise ConfigurationError(f"cannot write {file}: {error.strerror}") from error


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
    _label(panel, section.rows)


def _colour(row: Row, extractors: Sequence[str]) -> str:
    if row.name in extractors:
        return _COLOURS["extractor"]
    return _COLOURS["model" if "/" in row.name else "labeler"]


def _widen(panel: Axes, rows: Sequence[Row]) -> None:
    """Leave room for labels on the right."""
    times = [row.milliseconds for row in rows]
    low, high = min(times), max(times)
    spread = max(high / low, 2)
    panel.set_xlim(low / spread**0.08, high * spread**0.55)


def _label(panel: Axes, rows: Sequence[Row]) -> None:
    """Name the points on their right, one label below the other where they would overlap."""
    to_panel = panel.transData + panel.transAxes.inverted()
    lowest: list[tuple[float, float]] = []
    for row in sorted(rows, key=lambda each: -each.f1.mean):
        x, y = to_panel.transform((row.milliseconds, row.f1.mean))
        width = 0.02 + 0.0155 * len(_name(row))
        for taken_x, taken_y in lowest:
            if taken_x - width < x < taken_x + 0.45 and abs(taken_y - y) < _LINE:
                y = taken_y - _LINE
        lowest.append((x, y))
        panel.annotate(
            _name(row),
            (row.milliseconds, row.f1.mean),
            xytext=(x + 0.02, y),
            textcoords="axes fraction",
            va="center",
            fontsize=8,
            arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "gray"},
        )


def _name(row: Row) -> str:
    return f"{row.name} *" if row.is_trained_on_them else row.name
