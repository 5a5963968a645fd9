"""Small figures as SVG, to stand in a page without any file beside it."""

from __future__ import annotations

from collections.abc import Mapping

from medeval.reporting.lines import Line, shown, shown_interval

_WIDTH = 200
_HEIGHT = 18
_MARGIN = 5
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)

# What became of items, from good to bad; each has a class of the page's style.
OUTCOME_ORDER = (
    "answered",
    "unparsed",
    "refused",
    "truncated",
    "truncated_reasoning",
    "empty",
    "errored",
)


def score_figure(line: Line) -> str:
    """Return a score and its interval on a scale from 0 to 1; empty for one on another scale."""
    value = line.value
    if value is None or not 0 <= value <= 1 or line.direction == "neither" or line.is_count:
        return ""
    middle = _HEIGHT / 2
    interval = line.interval
    label = shown(value)
    parts = [
        f'<line class="tick" x1="{_x(tick)}" x2="{_x(tick)}" y1="2" y2="{_HEIGHT - 2}"/>'
        for tick in _TICKS
    ]
    if interval is not None and interval.low is not None and interval.high is not None:
        low, high = _x(interval.low), _x(interval.high)
        label += f" ({shown_interval(interval)})"
        parts.append(f'<line class="range" x1="{low}" x2="{high}" y1="{middle}" y2="{middle}"/>')
        parts += [
            f'<line class="range" x1="{end}" x2="{end}" y1="{middle - 4}" y2="{middle + 4}"/>'
            for end in (low, high)
        ]
    parts.append(f'<circle class="value" cx="{_x(value)}" cy="{middle}" r="4"/>')
    return _svg(label, parts)


def ledger_figure(outcomes: Mapping[str, int]) -> str:
    """Return what became of items as one bar; empty without items."""
    counts = {name: outcomes[name] for name in OUTCOME_ORDER if outcomes.get(name)}
    total = sum(counts.values())
    if not total:
        return ""
    parts: list[str] = []
    before = 0
    for name, count in counts.items():
        left, right = _x(before / total), _x((before + count) / total)
        width = round(right - left, 2)
        parts.append(f'<rect class="{name}" x="{left}" y="3" width="{width}" height="12"/>')
        before += count
    label = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())
    return _svg(label, parts)


def _x(share: float) -> float:
    inside = min(max(share, 0.0), 1.0)
    return round(_MARGIN + inside * (_WIDTH - 2 * _MARGIN), 2)


def _svg(label: str, parts: list[str]) -> str:
    # A page may make it narrower: a scale from 0 to 1 can be squeezed.
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    opening = f'<svg role="img" preserveAspectRatio="none" {size}>'
    return f"{opening}<title>{label}</title>{''.join(parts)}</svg>"
