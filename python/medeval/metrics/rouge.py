"""ROUGE by the rouge-score package, with a tokenizer for Chinese, Japanese and Korean.

The package's own tokenizer keeps a-z and 0-9 alone: two equal Chinese texts share no token, and an
accented letter splits its word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from medeval.metrics.metric import metric
from medeval.metrics.text import CJK, Agreement, fold_accents, has_cjk

# Our names, and the package's.
TYPES = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL", "rouge_lsum": "rougeLsum"}
_CJK_TOKEN = re.compile(f"[{CJK}]|[a-z0-9]+")
# As the package: shorter words are left as they are.
_LONGEST_UNSTEMMED = 3


class CharacterTokenizer:
    """One token per CJK character, one stem per run of Latin letters and digits."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer  # type: ignore[import-untyped]

        self._stemmer = PorterStemmer()

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        return [
            str(self._stemmer.stem(token)) if len(token) > _LONGEST_UNSTEMMED else token
            for token in _CJK_TOKEN.findall(unicodedata.normalize("NFKC", text).lower())
        ]


def rouge(name: str, reference: str, hypothesis: str, *, fold: bool = True) -> Agreement | None:
    """Return one kind of ROUGE, words taken as their stems.

    Args:
        name: a key of `TYPES`.
        reference: the gold text.
        hypothesis: the model's text.
        fold: take accented letters as their base letters.

    Returns:
        None where the reference has nothing to find: no token, or no pair of tokens for ROUGE-2.
    """
    if fold:
        reference, hypothesis = fold_accents(reference), fold_accents(hypothesis)
    by_character = has_cjk(reference) or has_cjk(hypothesis)
    tokens, scorer = _scorer(name, by_character)
    if len(tokens(reference)) < (2 if name == "rouge_2" else 1):
        return None
    return Agreement(*map(float, scorer.score(reference, hypothesis)[TYPES[name]]))


def plain_rouge_l(reference: str, hypothesis: str) -> float:
    """Return the F of ROUGE-L exactly as the package gives it, with stemming."""
    return float(_scorer("rouge_l", False)[1].score(reference, hypothesis)["rougeL"].fmeasure)


@cache
def _scorer(name: str, by_character: bool) -> tuple[Callable[[str], list[str]], Any]:
    """Return the tokenizer's function and the package's scorer with that tokenizer."""
    from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]
    from rouge_score.tokenizers import DefaultTokenizer  # type: ignore[import-untyped]

    tokenizer = CharacterTokenizer() if by_character else DefaultTokenizer(use_stemmer=True)
    return tokenizer.tokenize, RougeScorer([TYPES[name]], tokenizer=tokenizer)


def _part(name: str, place: int, reference: str, hypothesis: str) -> float | None:
    found = rouge(name, reference, hypothesis)
    return None if found is None else found[place]


for _name in TYPES:
    for _place, _ending in enumerate(("_precision", "_recall", "")):
        metric(f"{_name}{_ending}", of_texts=True)(partial(_part, _name, _place))
