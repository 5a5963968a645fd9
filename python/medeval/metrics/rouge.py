"""ROUGE by the rouge-score package, with a tokenizer for Chinese, Japanese and Korean.

The package's own tokenizer keeps a-z and 0-9 alone: two equal Chinese texts share no token, and an
accented letter splits its word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any, NamedTuple, Protocol

from medeval.metrics.metric import metric
from medeval.metrics.text import CJK, fold_accents, has_cjk

# Our names, and the package's.
TYPES = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL", "rouge_lsum": "rougeLsum"}
_CJK_TOKEN = re.compile(f"[{CJK}]|[a-z0-9]+")
# As the package: shorter words are left as they are.
_LONGEST_UNSTEMMED = 3


class Rouge(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f: float


class Tokenizer(Protocol):
    """What the package asks of a tokenizer."""

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        ...


class CharacterTokenizer:
    """One token per CJK character, one per run of Latin letters and digits.

    Args:
        stem: take words as their stems.
    """

    def __init__(self, stem: bool = True) -> None:
        from nltk.stem.porter import PorterStemmer  # type: ignore[import-untyped]

        self._stemmer = PorterStemmer() if stem else None

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        found = _CJK_TOKEN.findall(unicodedata.normalize("NFKC", text).lower())
        stemmer = self._stemmer
        if stemmer is None:
            return found
        return [
            str(stemmer.stem(token)) if len(token) > _LONGEST_UNSTEMMED else token
            for token in found
        ]


def rouge(
    name: str, reference: str, hypothesis: str, *, fold: bool = True, stem: bool = True
) -> Rouge | None:
    """Return one kind of ROUGE.

    Args:
        name: a key of `TYPES`.
        reference: the gold text.
        hypothesis: the model's text.
        fold: take accented letters as their base letters.
        stem: take words as their stems, as all metrics of tasks do.

    Returns:
        None where the reference has nothing to find: no token, or no pair of tokens for ROUGE-2.
    """
    if fold:
        reference, hypothesis = fold_accents(reference), fold_accents(hypothesis)
    by_character = has_cjk(reference) or has_cjk(hypothesis)
    if len(_tokenizer(by_character, stem).tokenize(reference)) < (2 if name == "rouge_2" else 1):
        return None
    return _score(name, reference, hypothesis, by_character=by_character, stem=stem)


def plain_rouge_l(reference: str, hypothesis: str) -> float:
    """Return the F of ROUGE-L exactly as the package gives it, with stemming."""
    return _score("rouge_l", reference, hypothesis, by_character=False, stem=True).f


def _score(name: str, reference: str, hypothesis: str, *, by_character: bool, stem: bool) -> Rouge:
    found = _scorer(name, by_character, stem).score(reference, hypothesis)[TYPES[name]]
    return Rouge(*map(float, found))


@cache
def _tokenizer(by_character: bool, stem: bool) -> Tokenizer:
    if by_character:
        return CharacterTokenizer(stem)
    from rouge_score.tokenizers import DefaultTokenizer  # type: ignore[import-untyped]

    plain: Tokenizer = DefaultTokenizer(use_stemmer=stem)
    return plain


@cache
def _scorer(name: str, by_character: bool, stem: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]

    return RougeScorer([TYPES[name]], tokenizer=_tokenizer(by_character, stem))


def _registered(name: str, place: int, ending: str, title: str) -> None:
    nothing = "no reference in a script that ROUGE reads, or too short a one"

    @metric(f"{name}{ending}", f"{title} of {TYPES[name]}, stemmed", nothing, of_texts=True)
    def part(reference: str, hypothesis: str) -> float | None:
        found = rouge(name, reference, hypothesis)
        return None if found is None else found[place]


for _name in TYPES:
    for _place, _ending, _title in (
        (2, "", "F"),
        (0, "_precision", "precision"),
        (1, "_recall", "recall"),
    ):
        _registered(_name, _place, _ending, _title)
