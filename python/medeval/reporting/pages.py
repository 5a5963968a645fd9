"""Pages of reports and leaderboards: templates, and how scores and texts are shown in them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from medeval.models.scores import Interval
from medeval.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#&~])")


def shown(value: float | None) -> str:
    """Return a score as tables show it."""
    return "undefined" if value is None else f"{value:.3f}"


def shown_interval(interval: Interval | None) -> str:
    """Return an interval as tables show it; empty for none."""
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return f"{interval.low:.3f} to {interval.high:.3f}"


def page(template: str, **values: Any) -> str:
    """Return a page; all text in it is shown as it is, and none of it acts."""
    return _environment(template.endswith(".html")).get_template(template).render(**values)


def escaped(value: Any) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", visible(" ".join(str(value).split())))


@cache
def _environment(is_html: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("medeval.reporting"),
        autoescape=is_html,  # noqa: S701  in Markdown each text is escaped by `plain`
        finalize=lambda value: visible(value) if is_html and type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not is_html,
    )
    filters: dict[str, Any] = {"plain": escaped, "score": shown, "interval": shown_interval}
    environment.filters |= filters
    return environment
