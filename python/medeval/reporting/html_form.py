"""A report as one HTML file that needs no other."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from medeval.reporting.contents import Contents
from medeval.reporting.figures import OUTCOME_ORDER, ledger_figure, score_figure
from medeval.reporting.lines import shown, shown_interval
from medeval.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment


def report_html(contents: Contents) -> str:
    """Return the page: overall scores, every task, the ledger of items."""
    return page("report.html", contents=contents, outcome_names=_outcome_names(contents))


def page(template: str, **values: Any) -> str:
    """Return a page of this package's templates."""
    return _environment().get_template(template).render(**values)


def _outcome_names(contents: Contents) -> list[str]:
    other = [name for name in contents.outcomes if name not in ("asked", *OUTCOME_ORDER)]
    return [name for name in (*OUTCOME_ORDER, *other) if name in contents.outcomes]


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("medeval.reporting"),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "score": shown,
        "interval": shown_interval,
        # Numbers and fixed words alone are in the figures, nothing that a model or file wrote.
        "score_figure": lambda line: Markup(score_figure(line)),  # noqa: S704
        "ledger_figure": lambda outcomes: Markup(ledger_figure(outcomes)),  # noqa: S704
    }
    return environment
