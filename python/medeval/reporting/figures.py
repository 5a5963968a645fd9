"""Figures of a report for a paper: SVG, PDF and PNG, as wide as a column, the same bytes each time.

They are drawn of the descriptions in `models.plots`, whatever task made them, and of the intervals
of its metrics. Colours: M. Okabe and K. Ito, Color Universal Design (2008).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from textwrap import shorten, wrap
from typing import Any

import numpy as np

from medeval.errors import UserError, os_error_as
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.plots import Plot, ends_of, plot_name, read_plots
from medeval.models.text_files import write_text
from medeval.reporting.report import Line, escaped, task_lines
from medeval.text import visible

# What each form says of itself: no time and no version, so that bytes stay.
FORMS: dict[str, dict[str, str | None]] = {
    "svg": {"Creator": "medeval", "Date": None},
    "pdf": {"Creator": "medeval", "Producer": "medeval", "CreationDate": None},
    "png": {"Software": "medeval"},
}
WIDTH = 89 / 25.4  # a column of 89 mm, in inches
ROW = 0.2
HEIGHTS = {"curve": 3.2, "calibration": 3.4, "confusion": 3.5}  # of others by their rows
DOTS_PER_INCH = 600
BLUE, SKY, RED, GREY, PALE = "#0072B2", "#56B4E9", "#D55E00", "#6B6B6B", "#E6E6E6"
# What values are compared with.
LINE: dict[str, Any] = {"color": GREY, "linestyle": "--", "linewidth": 0.8, "zorder": 0}
LABEL_WIDTH, LABEL_LINES = 26, 2
# Of the fonts that are installed; the first comes with matplotlib, and lacks Chinese.
FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "Noto Sans SC", "PingFang SC", "Microsoft YaHei")
SIMILAR_FONTS = b"'DejaVu Sans', Verdana, sans-serif"
# In the form of matplotlib, which reads it.
STYLE = Path(__file__).with_name("figures.mplstyle")


def require_matplotlib() -> None:
    """Check that figures can be drawn.

    Raises:
        UserError: matplotlib is not installed.
    """
    try:
        import_module("matplotlib.figure")
    except ImportError:
        raise UserError(
            "--figures needs matplotlib, which is not installed: `pip install 'medeval[plots]'`."
        ) from None


def write_figures(report: BenchmarkReport, folder: Path, prefix: str = "") -> list[Path]:
    """Write all figures of a report, and their captions.

    Args:
        report: of a run.
        folder: made if it is not there.
        prefix: of the names of files, which then go on with the task and the plot.

    Returns:
        The files: each figure in all `FORMS`, and `captions.md`; none where nothing can be drawn.

    Raises:
        UserError: matplotlib is not installed, or a file cannot be written.
    """
    require_matplotlib()
    contents: dict[str, str | bytes] = {}
    start, captions = [plot_name(prefix)] if prefix else [], list[str]()
    for task_id, plot in plots_of(report):
        stem = "_".join([*start, plot_name(task_id), plot.name])
        while f"{stem}.svg" in contents:  # of another task, whose name differs by other signs
            stem += "_2"
        files = drawn(plot) if plot.has_values() else {}
        contents |= {f"{stem}.{form}": content for form, content in files.items()}
        captions.append(f"**{stem}** {caption(report.model_id, task_id, plot)}\n")
    if not captions:
        return []
    contents["_".join([*start, "captions.md"])] = "\n".join(captions)
    with os_error_as(f"--figures {folder}: cannot be written: {{why}}."):
        for name, content in contents.items():
            write_text(folder / name, content)
    return [folder / name for name in contents]


def plots_of(report: BenchmarkReport) -> Iterator[tuple[str, Plot]]:
    """Yield each plot with its task: the metrics, then what the task's last result describes."""
    for task_id, results in report.results_by_task().items():
        forest = metric_forest(task_lines(report, task_id, results))
        found = {"metrics": forest} if forest else {}
        for plot in read_plots(results[-1].metadata) if results else ():
            found.setdefault(plot.name, plot)
        yield from ((task_id, plot) for plot in found.values())


def metric_forest(lines: Sequence[Line]) -> Plot | None:
    """Return the metrics of a task with their intervals; None without any on the scale to 1."""
    kept = [one for one in lines if not one.is_count and one.value is not None]
    fitting = [one for one in kept if -1 <= (one.value or 0.0) <= 1]
    if not fitting:
        return None
    # With a space at which no line is broken.
    arrows = {"lower": "\u00a0\u2193", "neither": ""}
    # In words, between which a line may be broken.
    names = {one.name: (one.label or one.name).replace("_", " ") for one in kept}
    others = [names[one.name] for one in kept if one not in fitting]
    ends = [one.interval for one in fitting]
    lowest = min([one.value or 0.0 for one in fitting] + [one.low or 0.0 for one in ends if one])
    return Plot(
        kind="forest",
        name="metrics",
        title="Metrics",
        y=[one.value for one in fitting],
        **ends_of(ends),
        n=[one.n for one in fitting],
        labels=[names[one.name] + arrows.get(one.direction, "\u00a0\u2191") for one in fitting],
        limits=(min(0.0, lowest), 1.0),
        note=f"On other scales, and not drawn: {', '.join(others)}." if others else "",
    )


def caption(model: str, task_id: str, plot: Plot) -> str:
    """Return what a reader must know of a figure, in a line of Markdown."""
    counts = [one for one in plot.n if one is not None]
    n = ""
    if counts and plot.kind in ("forest", "bars"):
        n = f"n = {max(counts):,}" if len(set(counts)) == 1 else ""
    of_line = f"Line: {plot.level_label}" if plot.level_label else ""
    made = f"95 % intervals: {plot.method.replace('_', ' ')}" if plot.method else ""
    about = [n, made, of_line] if plot.has_values() else []
    told = [f"{one}." for one in (f"{plot.title}, {task_id}, {model}", *about) if one]
    return escaped(" ".join([*told, plot.note]))


def drawn(plot: Plot) -> dict[str, bytes]:
    """Return a plot in all `FORMS`."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.font_manager import fontManager

    installed = {one.name for one in fontManager.ttflist}
    fonts = [one for one in FONTS if one in installed] or ["sans-serif"]
    style: Any = {"font.family": fonts}
    files = {}
    with mpl.rc_context(style, STYLE), warnings.catch_warnings():
        # In the SVG the text stays text, whatever script it is in.
        warnings.filterwarnings("ignore", r"(?s)Glyph \d+ .* missing from")
        lines = sum(_label(one).count("\n") + 1 for one in plot.labels)
        of_rows = 0.75 + ROW * max(lines * 0.75, len(plot.labels))
        figure = Figure(figsize=(WIDTH, HEIGHTS.get(plot.kind, of_rows)), layout="constrained")
        _DRAWN[plot.kind](figure, plot)
        figure.axes[0].set_title("\n".join(wrap(visible(plot.title), 60)[:2]))
        # Places are found once, and are then the same in all forms.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for form, metadata in FORMS.items():
            buffer = BytesIO()
            told = metadata if form == "png" else {**metadata, "Title": visible(plot.title)}
            figure.savefig(buffer, format=form, dpi=DOTS_PER_INCH, metadata=told)
            # Where the first font is not there, one as wide, or any without serifs.
            files[form] = buffer.getvalue().replace(b"'DejaVu Sans'", SIMILAR_FONTS)
    return files


def _label(text: str) -> str:
    """Return a name as a figure has room for."""
    lines = wrap(visible(text), LABEL_WIDTH) or [""]
    if len(lines) > LABEL_LINES:
        rest = shorten(" ".join(lines[LABEL_LINES - 1 :]), LABEL_WIDTH, placeholder="\u2026")
        lines = [*lines[: LABEL_LINES - 1], rest]
    return "\n".join(lines)


def _axes(figure: Any, plot: Plot) -> Any:
    axes = figure.subplots()
    axes.set_xlabel(visible(plot.x_label))
    axes.set_ylabel(visible(plot.y_label))
    return axes


def _rows(figure: Any, plot: Plot) -> None:
    """Draw a forest or bars, from above; beside each row stands its value with the interval."""
    axes, count = _axes(figure, plot), len(plot.labels)
    if plot.level is not None:
        axes.axvline(plot.level, **LINE)
    ends = zip_longest(plot.y, plot.low, plot.high)
    for row, (value, low, high) in enumerate(ends):
        if value is None:
            beside = "not shown"
        else:
            beside = f"{value:.3f}"
            if plot.kind == "bars":
                axes.barh(row, value, height=0.7, color=SKY, linewidth=0)
            if low is not None and high is not None:
                beside += f" [{low:.3f}, {high:.3f}]"
                axes.plot([low, high], [row, row], color=BLUE, solid_capstyle="butt")
            if plot.kind == "forest":
                axes.plot(value, row, "s", color=BLUE)
        axes.text(1.02, row, beside, transform=axes.get_yaxis_transform(), va="center")
    axes.set_yticks(range(count), [_label(one) for one in plot.labels])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(count - 0.5, -0.5)
    if plot.limits:
        axes.set_xlim(*plot.limits)


def _curve(figure: Any, plot: Plot) -> None:
    axes = _axes(figure, plot)
    if plot.low:
        axes.fill_between(
            plot.x, np.array(plot.low, float), np.array(plot.high, float),
            color=SKY, alpha=0.35, linewidth=0, label="95 % band",
        )  # fmt: skip
    axes.plot(plot.x, np.array(plot.y, float), color=BLUE)
    _compared(axes, plot)


def _compared(axes: Any, plot: Plot) -> None:
    """Draw what values are compared with, the legend, and the scales."""
    label = visible(plot.level_label) or None
    if plot.has_diagonal:
        axes.plot([0, 1], [0, 1], label=label, **LINE)
    if plot.level is not None:
        axes.axhline(plot.level, label=label, **LINE)
    if plot.limits:
        low, high = plot.limits
        margin = 0.02 * (high - low)
        axes.set_xlim(low - margin, high + margin)
        axes.set_ylim(low - margin, high + margin)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="best")


def _calibration(figure: Any, plot: Plot) -> None:
    """Draw the observed shares, and below them the cases of each bin."""
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    for x, low, high in zip(plot.x, plot.low, plot.high, strict=False):
        axes.plot([x, x], [low, high], color=BLUE)
    axes.plot(plot.x, np.array(plot.y, float), "o", color=BLUE)
    axes.set_ylabel(visible(plot.y_label))
    _compared(axes, plot)
    below.bar(plot.x, [one or 0 for one in plot.n], width=0.03, color=RED, linewidth=0)
    below.set_yscale("log")
    below.set_ylim(bottom=1)
    below.yaxis.set_major_formatter("{x:,.0f}")
    below.yaxis.set_minor_formatter("")
    below.set_ylabel("n")
    below.set_xlabel(visible(plot.x_label))


def _confusion(figure: Any, plot: Plot) -> None:
    """Draw the cells, the darker the more; those that are hidden are hatched."""
    axes, k = _axes(figure, plot), len(plot.labels)
    counts = np.array([[cell or 0 for cell in row] for row in plot.cells], float)
    most = np.log1p(counts.max(initial=1.0))
    axes.imshow(np.log1p(counts), cmap="Blues", vmin=0, vmax=most * 1.1, aspect="equal")
    rectangle = import_module("matplotlib.patches").Rectangle
    for row, cells in enumerate(plot.cells):
        for column, cell in enumerate(cells):
            if cell is None:
                corner = (column - 0.5, row - 0.5)
                axes.add_patch(
                    rectangle(corner, 1, 1, facecolor=PALE, edgecolor=GREY, hatch="////", lw=0)
                )
            elif cell:
                color = "white" if np.log1p(cell) > 0.6 * most else "black"
                # In four characters at most, up to a million.
                count = str(cell) if cell < 10_000 else f"{cell / 1000:.0f}k"
                axes.text(column, row, count, ha="center", va="center", color=color,
                          fontsize=6.0)  # fmt: skip
    labels = [visible(one) for one in plot.labels]
    axes.set_xticks(range(k), labels)
    axes.set_yticks(range(k), labels)
    axes.tick_params(length=0)
    if k > 6:
        axes.tick_params(axis="x", labelrotation=45)


_DRAWN = {
    "forest": _rows,
    "bars": _rows,
    "curve": _curve,
    "calibration": _calibration,
    "confusion": _confusion,
}
