"""All metrics by name.

A new one is a decorated function in a module of this folder, and a line of `data/metrics.json`. The
true metric has the plain name; a documented proxy of another meaning ends in `_proxy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from inspect import signature
from typing import Any

from medeval.errors import UserError
from medeval.metrics import claims, matching, proxies, texts  # noqa: F401
from medeval.metrics.concepts import Lexicon, common_lexicon
from medeval.metrics.matching import Synonyms, common_synonyms
from medeval.metrics.metric import DECORATED, Metric, vocabulary
from medeval.metrics.texts import bertscore

# Another name to the name.
ALIASES = {other: name for name, others in vocabulary("aliases").items() for other in others}


class MetricRegistry:
    """Metrics by name and alias."""

    def __init__(self, metrics: Iterable[Metric], aliases: Mapping[str, str] | None = None) -> None:
        """Take metrics, and other names for them.

        Raises:
            ValueError: a name that is there twice, or an alias of nothing.
        """
        self._by_name: dict[str, Metric] = {}
        for metric in metrics:
            self.add(metric)
        for alias, name in (aliases or {}).items():
            if alias in self or name not in self:
                raise ValueError(f"Metric alias {alias!r} of {name!r} is taken or leads nowhere")
            self._by_name[alias] = self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Metric]:
        return (one for name, one in self._by_name.items() if name == one.name)

    def add(self, metric: Metric) -> None:
        """Add a metric.

        Raises:
            ValueError: its name is taken.
        """
        if metric.name in self:
            raise ValueError(f"There is a metric {metric.name!r} already")
        self._by_name[metric.name] = metric

    def find(self, name: str) -> Metric:
        """Return the metric of a name or alias.

        Raises:
            UserError: there is none.
        """
        if name not in self:
            close = get_close_matches(name, self._by_name, n=3)
            known = ", ".join(self._by_name)
            hint = f"Did you mean {' or '.join(close)}?" if close else f"Known: {known}."
            raise UserError(f"Unknown metric {name!r}. {hint}")
        return self._by_name[name]


def default_registry(
    lexicon: Lexicon | None = None, synonyms: Synonyms | None = None
) -> MetricRegistry:
    """Return the metrics of this package, with `bertscore` where its extra is installed.

    Args:
        lexicon: clinical concepts to look for; by default the small one that comes along.
        synonyms: names of diagnoses; by default the common abbreviations.
    """
    words: dict[str, Any] = {
        "lexicon": lexicon or common_lexicon(),
        "synonyms": synonyms or common_synonyms(),
    }

    def with_words(function: Callable[..., Any]) -> Callable[..., Any]:
        # Each function gets the words that it asks for.
        asked = words.keys() & signature(function).parameters
        return partial(function, **{name: words[name] for name in asked})

    metrics = list(bertscore())
    for metric in DECORATED:
        coverage = metric.coverage and with_words(metric.coverage)
        metrics.append(replace(metric, record=with_words(metric.record), coverage=coverage))
    return MetricRegistry(sorted(metrics, key=lambda metric: metric.name), ALIASES)
