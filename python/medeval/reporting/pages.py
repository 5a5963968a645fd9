"""Pages from the templates of this package: HTML that needs no other file, and Markdown."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from medeval.reporting.figures import ledger_figure, score_figure
from medeval.reporting.lines import shown, shown_interval
from medeval.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment

    from medeval.reporting.leaderboard import Cell

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#&~])")


def page(template: str, **values: Any) -> str:
    """Return a page; all text in it is shown as it is, and none of it acts."""
    return _environment(template.endswith(".html")).get_template(template).render(**values)


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", visible(" ".join(text.split())))


def _value_and_interval(cell: Cell) -> tuple[str, str]:
    between = shown_interval(cell.interval)
    return shown(cell.value), f"({between})" if between else ""


@cache
def _environment(is_html: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("medeval.reporting"),
        autoescape=is_html,  # noqa: S701  in Markdown each text is escaped by `plain`
        finalize=lambda value: visible(value) if is_html and type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not is_html,
    )
    environment.filters |= {
        "plain": escaped,
        "score": shown,
        "interval": shown_interval,
        "cell": _value_and_interval,
        # Numbers and fixed words alone are in the figures, nothing that a model or file wrote.
        "score_figure": lambda line: Markup(score_figure(line)),  # noqa: S704
        "ledger_figure": lambda outcomes: Markup(ledger_figure(outcomes)),  # noqa: S704
    }
    return environment
