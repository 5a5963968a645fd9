"""The documented proxies and the richer functions of the project that the task models come from.

Both are kept number for number, blind spots included, for comparison with published figures; the
metrics of the other modules say something about a model. The proxies take values as `str` shows
them, so that null is the word "none". The richer functions score no pair (None) that lacks an
output, or what it is compared with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from medeval.metrics.metric import Sample, metric, rationale_of, vocabulary
from medeval.metrics.texts import plain_rouge_l

# Words of giving reasons, and of medicine.
_WORDS = vocabulary("proxies")
_DROPPED = str.maketrans("", "", ".,!?;:-()[]{}'\"")


@metric("reasoning_cue_rate")
def cue_rate(item: Sample) -> float:
    """Return 1 if the explanation, else the rationale, contains a word of giving reasons."""
    output = item.output
    reasons = str(output.get("explanation") or output.get("rationale") or "").lower()
    return float(any(cue in reasons for cue in _WORDS["cues"]))


@metric("accuracy_proxy", "clinical_correctness_proxy", "diagnostic_accuracy_proxy")
def same_answer(item: Sample) -> float:
    """Return 1 if both answers are equal but for case and outer whitespace, else 0."""
    return float(_shown(item.reference, item).strip() == _shown(item.output, item).strip())


@metric("rouge_l_proxy")
def token_recall(item: Sample) -> float:
    """Return the share of the reference's distinct tokens that the output has; order is ignored."""
    wanted, given = (set(_shown(one, item).split()) for one in (item.reference, item.output))
    return len(wanted & given) / len(wanted) if wanted else 0.0


@metric("clinical_relevance_proxy")
def keyword_rate(item: Sample) -> float:
    """Return the share of seven clinical keywords that are tokens of the output."""
    keywords = set(_WORDS["keywords"])
    return len(keywords & set(_shown(item.output, item).split())) / len(keywords)


@metric("factual_consistency_proxy")
def digit_support(item: Sample) -> float:
    """Return the share of the output's distinct digit tokens that the reference has; 1 for none.

    A token is seen only if it is all digits: "120/80", "500mg", "3.5" and "5," are not.
    """
    claimed = {token for token in _shown(item.output, item).split() if token.isdigit()}
    invented = claimed - set(_shown(item.reference, item).split())
    return 1 - len(invented) / len(claimed) if claimed else 1.0


def _compared(
    by: Callable[[str, str], float],
    item: Sample,
    *,
    under: str | None = None,
    may_be_empty: bool = False,
) -> float | None:
    """Compare the texts of an item; None without an output, or without what it is compared with.

    Args:
        by: compares reference and output.
        item: the pair.
        under: the key in the reference, if it is not that of the answer.
        may_be_empty: an empty reference is compared too; a missing one never is.
    """
    wanted, given = item.reference.get(under or item.target), item.output.get(item.target)
    if wanted is None or given is None or not str(given) or not (str(wanted) or may_be_empty):
        return None
    return by(str(wanted), str(given))


def _contained(wanted: str, given: str) -> float:
    """Return 1 if one normalised answer equals or contains the other, else 0."""
    wanted, given = _normalised(wanted), _normalised(given)
    return float(wanted in given or given in wanted)


def _jaccard(wanted: str, given: str) -> float:
    """Return the Jaccard index of two token sets."""
    one, other = set(_normalised(wanted).split()), set(_normalised(given).split())
    return len(one & other) / len(one | other) if one | other else 0.0


def rationale_overlap(item: Sample) -> float | None:
    """Return the token F1 of the reasons given; they have keys of their own."""
    wanted, given = rationale_of(item.reference), rationale_of(item.output)
    return _multiset_f1(wanted, given) if wanted and given else None


def _multiset_f1(reference: str, hypothesis: str) -> float:
    wanted, given = (Counter(_normalised(text).split()) for text in (reference, hypothesis))
    shared = (wanted & given).total()
    return 2 * shared / (wanted.total() + given.total()) if shared else 0.0


def _normalised(text: str) -> str:
    return " ".join(text.lower().split()).translate(_DROPPED)


def _shown(record: Mapping[str, Any], item: Sample) -> str:
    return str(record.get(item.target, "")).lower()


same_or_contained = partial(_compared, _contained)
note_overlap = partial(_compared, _jaccard, under="note")
summary_overlap = partial(_compared, _multiset_f1, may_be_empty=True)
# By the package's own tokenizer, F with stemming.
summary_rouge_l = partial(_compared, plain_rouge_l, may_be_empty=True)
