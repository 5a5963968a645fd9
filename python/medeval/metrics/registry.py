"""All metrics by name. A new metric is one more `Metric` in one of the lists here.

The true metric has the plain name; a documented proxy of another meaning ends in `_proxy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches

from medeval.errors import UserError
from medeval.metrics import (
    bertscore,
    classes,
    concepts,
    confidence,
    consistency,
    matching,
    number_facts,
    readability,
    reasoning,
    simple,
)
from medeval.metrics.concepts import Lexicon, common_lexicon
from medeval.metrics.item import Item
from medeval.metrics.matching import Synonyms, common_synonyms
from medeval.metrics.metric import Metric
from medeval.metrics.rouge import TYPES, Rouge, rouge

ALIASES = {
    "f1_score": "f1",
    "macro_f1": "f1",
    "macro_precision": "precision",
    "macro_recall": "recall",
    "rouge1": "rouge_1",
    "rouge2": "rouge_2",
    "rougeL": "rouge_l",
    "rougeLsum": "rouge_lsum",
    "brier_score": "brier",
    "ece": "expected_calibration_error",
    "flesch_kincaid_grade": "readability",
}
_NO_REFERENCE = "no reference"
_DEFINED = "always defined"


class MetricRegistry:
    """Metrics by name and alias."""

    def __init__(self, metrics: Iterable[Metric], aliases: Mapping[str, str] | None = None) -> None:
        """Take metrics, and other names for them.

        Raises:
            ValueError: a name that is there twice, or an alias of nothing.
        """
        self._metrics: dict[str, Metric] = {}
        self._aliases: dict[str, str] = {}
        for metric in metrics:
            self.add(metric)
        for alias, name in (aliases or {}).items():
            if alias in self or name not in self._metrics:
                raise ValueError(f"Metric alias {alias!r} of {name!r} is taken or leads nowhere")
            self._aliases[alias] = name

    def __contains__(self, name: object) -> bool:
        return name in self._metrics or name in self._aliases

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._metrics.values())

    def __len__(self) -> int:
        return len(self._metrics)

    def add(self, metric: Metric) -> None:
        """Add a metric.

        Raises:
            ValueError: its name is taken.
        """
        if metric.name in self:
            raise ValueError(f"There is a metric {metric.name!r} already")
        self._metrics[metric.name] = metric

    def find(self, name: str) -> Metric:
        """Return the metric of a name or alias.

        Raises:
            UserError: there is none.
        """
        known = self._metrics.get(self._aliases.get(name, name))
        if known is None:
            names = [*self._metrics, *self._aliases]
            close = get_close_matches(name, names, n=3)
            hint = f"Did you mean {' or '.join(close)}?" if close else f"Known: {', '.join(names)}."
            raise UserError(f"Unknown metric {name!r}. {hint}")
        return known


def default_registry(
    lexicon: Lexicon | None = None, synonyms: Synonyms | None = None
) -> MetricRegistry:
    """Return the metrics of this package.

    Args:
        lexicon: clinical concepts to look for; by default the small one that comes along.
        synonyms: names of diagnoses; by default the common abbreviations.
    """
    lexicon = lexicon or common_lexicon()
    synonyms = synonyms or common_synonyms()
    return MetricRegistry(
        [
            *_answers(synonyms),
            *_classes(),
            *_diagnoses(synonyms),
            *_rouge(),
            *bertscore.installed(),
            *_claims(lexicon),
            *_reasons(lexicon),
            *_proxies(),
        ],
        ALIASES,
    )


def _texts(score: Callable[[str, str], float | None]) -> Callable[[Item], float | None]:
    return lambda item: score(item.reference_text, item.output_text)


def _answers(synonyms: Synonyms) -> Iterator[Metric]:
    exact = _texts(matching.exact_match)
    yield Metric("exact_match", "normalised answer equals the gold", exact, _NO_REFERENCE, True)
    yield Metric("accuracy", "normalised answer equals the gold", exact, _NO_REFERENCE, True)
    yield Metric(
        "clinical_correctness",
        "answer equals the gold, abbreviations written out",
        _texts(synonyms.same),
        _NO_REFERENCE,
        True,
    )
    yield Metric("token_f1", "F1 of the answer's tokens", _texts(matching.token_f1), _NO_REFERENCE)


def _classes() -> Iterator[Metric]:
    def pair(item: Item) -> tuple[str, str] | None:
        return classes.class_pair(item.reference_text, item.output_text)

    for name in ("precision", "recall", "f1"):

        def pool(counts: Mapping[tuple[str, str], int], name: str = name) -> float | None:
            scores = classes.macro_scores(counts)
            return None if scores is None else float(getattr(scores, name))

        title = f"{name}, unweighted mean over the gold's classes (macro average)"
        yield Metric(name, title, pair, _NO_REFERENCE, pool=pool)


def _diagnoses(synonyms: Synonyms) -> Iterator[Metric]:
    same = _texts(synonyms.same)
    yield Metric(
        "diagnostic_accuracy",
        "diagnosis equals the gold, abbreviations written out",
        same,
        _NO_REFERENCE,
        True,
    )
    for k in (1, 3, 5):

        def among(item: Item, k: int = k) -> float | None:
            ranked = matching.ranking(item.output, item.target)
            return matching.top_k(item.reference_text, ranked, k, synonyms)

        first = "the first diagnosis" if k == 1 else f"one of the first {k} diagnoses"
        yield Metric(f"top_{k}", f"{first} is the gold", among, _NO_REFERENCE, True)

    def reciprocal_rank(item: Item) -> float | None:
        ranked = matching.ranking(item.output, item.target)
        return matching.reciprocal_rank(item.reference_text, ranked, synonyms)

    yield Metric("mrr", "1 over the rank of the gold diagnosis", reciprocal_rank, _NO_REFERENCE)

    def confidence_and_correctness(item: Item) -> tuple[float, float] | None:
        stated, correct = confidence.confidence_of(item.output), same(item)
        return None if stated is None or correct is None else (stated, correct)

    def brier(item: Item) -> float | None:
        pair = confidence_and_correctness(item)
        return None if pair is None else confidence.squared_error(*pair)

    unstated = "no reference, or no confidence from 0 to 1"
    yield Metric(
        "brier", "squared error of the stated confidence", brier, unstated, direction="lower"
    )
    yield Metric(
        "expected_calibration_error",
        "distance of stated confidence and accuracy, ten bins",
        confidence_and_correctness,
        unstated,
        direction="lower",
        pool=confidence.expected_calibration_error,
    )


def _rouge() -> Iterator[Metric]:
    parts: dict[str, tuple[str, Callable[[Rouge], float]]] = {
        "": ("F", lambda found: found.f),
        "_precision": ("precision", lambda found: found.precision),
        "_recall": ("recall", lambda found: found.recall),
    }
    for name, official in TYPES.items():
        for ending, (title, part) in parts.items():

            def score(
                item: Item, name: str = name, part: Callable[[Rouge], float] = part
            ) -> float | None:
                found = rouge(name, item.reference_text, item.output_text)
                return None if found is None else part(found)

            nothing = "no reference in a script that ROUGE reads, or too short a one"
            yield Metric(name + ending, f"{title} of {official}, stemmed", score, nothing)


def _claims(lexicon: Lexicon) -> Iterator[Metric]:
    def precision(item: Item) -> float | None:
        return number_facts.number_precision(
            item.reference_text, item.output_text, item.source_text
        )

    yield Metric(
        "number_precision",
        "share of the output's numbers that gold or source has",
        precision,
        "no number in the output",
    )
    yield Metric(
        "number_recall",
        "share of the gold's numbers that the output has",
        _texts(number_facts.number_recall),
        "no number in the reference",
    )

    def relevance(item: Item) -> float | None:
        return concepts.concept_f1(
            lexicon.findings(item.reference_text), lexicon.findings(item.output_text)
        )

    yield Metric(
        "clinical_relevance",
        "F1 of clinical concepts with polarity",
        relevance,
        "no known concept in reference and output",
    )

    def consistent(item: Item) -> float | None:
        others = (item.source_text, item.reference_text)
        return consistency.supported_share(item.output_text, others, lexicon)

    yield Metric(
        "factual_consistency",
        "share of the output's numbers and concepts that gold or source has",
        consistent,
        "no number and no known concept in the output",
    )
    yield Metric(
        "readability",
        "Flesch-Kincaid grade",
        lambda item: readability.grade(item.output_text),
        "no word, or Chinese, Japanese or Korean text",
        direction="neither",
    )


def _reasons(lexicon: Lexicon) -> Iterator[Metric]:
    yield Metric(
        "reasoning_quality",
        "F1 of the rationale's tokens",
        reasoning.rationale_f1,
        "no rationale in the reference",
    )
    yield Metric(
        "evidence_rate",
        "share of the rationale's numbers and concepts that the case has",
        lambda item: reasoning.evidence_rate(item, lexicon),
        "no number and no known concept in the rationale",
    )
    yield Metric(
        "reasoning_cue_rate",
        "the rationale has a word of giving reasons",
        lambda item: simple.has_cue(item.output),
        _DEFINED,
        True,
    )


def _proxies() -> Iterator[Metric]:
    def same(item: Item) -> float:
        return simple.same_answer(item.reference, item.output, item.target)

    for name in ("accuracy", "clinical_correctness", "diagnostic_accuracy"):
        yield Metric(
            f"{name}_proxy", "answers equal but for case and outer space", same, _DEFINED, True
        )
    yield Metric(
        "rouge_l_proxy",
        "share of the gold's distinct tokens that the output has",
        lambda item: simple.token_recall(item.reference, item.output, item.target),
        _DEFINED,
    )
    yield Metric(
        "clinical_relevance_proxy",
        "share of seven clinical keywords in the output",
        lambda item: simple.keyword_rate(item.output, item.target),
        _DEFINED,
    )
    yield Metric(
        "factual_consistency_proxy",
        "share of the output's digit tokens that the gold has",
        lambda item: simple.digit_support(item.reference, item.output, item.target),
        _DEFINED,
    )
