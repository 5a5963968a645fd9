"""Answers compared as whole texts, as bags of tokens, and as ranked diagnoses."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from medeval.metrics.metric import Item, metric
from medeval.metrics.text import has_cjk, text_of, words

_EQUAL = "normalised answer equals the gold"
_EDGE_CATEGORIES = ("Ps", "Pe", "Pi", "Pf")
# Not %, +, * or a hyphen: "5%" is not 5, and "Rh-" not Rh.
_EDGE_CHARACTERS = frozenset(".,;:!?'\"…。、·¿¡")


def normalised(text: str) -> str:
    """Return the text in compatibility form, caseless, single-spaced, without edge punctuation."""
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    start, end = 0, len(text)
    while start < end and _is_edge(text[start]):
        start += 1
    while end > start and _is_edge(text[end - 1]):
        end -= 1
    return text[start:end]


def tokens(text: str) -> list[str]:
    """Return the normalised tokens of a text; each CJK character is one."""
    found: list[str] = []
    for run in normalised(text).split():
        bare = normalised(run)
        if has_cjk(bare):
            found.extend(words(bare))
        elif bare:
            found.append(bare)
    return found


@metric("exact_match", _EQUAL, of_texts=True, binary=True)
@metric("accuracy", _EQUAL, of_texts=True, binary=True)
def exact_match(reference: str, hypothesis: str) -> float | None:
    """Return 1 if both normalised texts are equal, else 0; None without a reference."""
    wanted = normalised(reference)
    return float(wanted == normalised(hypothesis)) if wanted else None


@metric("token_f1", "F1 of the answer's tokens", of_texts=True)
def token_f1(reference: str, hypothesis: str) -> float | None:
    """Return the F1 of two bags of tokens; None without a reference."""
    wanted, given = Counter(tokens(reference)), Counter(tokens(hypothesis))
    if not wanted:
        return None
    return 2 * (wanted & given).total() / (wanted.total() + given.total())


class Synonyms:
    """Names of one disease, of which the first stands for all."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        """Take full names with their abbreviations and other names.

        Raises:
            ValueError: one name for two diseases.
        """
        self._full: dict[tuple[str, ...], str] = {}
        for full, others in names.items():
            for name in (full, *others):
                key = tuple(normalised(name).split())
                if self._full.setdefault(key, normalised(full)) != normalised(full):
                    raise ValueError(f"{name!r} names both {self._full[key]} and {full}")
        self._longest = max(map(len, self._full), default=0)

    def expanded(self, diagnosis: str) -> str:
        """Return the normalised diagnosis with every known name in its full form.

        A bracket that only gives the abbreviation of what stands before it says nothing more.
        """
        text = normalised(diagnosis)
        before, _, rest = text.partition("(")
        inside, _, after = rest.partition(")")
        name, repeated = self._in_full(before), self._in_full(normalised(inside))
        return self._in_full(f"{before} {after}" if name.endswith(repeated) else text)

    def same(self, reference: str, hypothesis: str) -> float | None:
        """Return 1 if both mean one diagnosis, else 0; None without a reference."""
        wanted = self.expanded(reference)
        return float(wanted == self.expanded(hypothesis)) if wanted else None

    def _in_full(self, text: str) -> str:
        parts = text.split()
        full: list[str] = []
        while parts:
            for length in range(min(self._longest, len(parts)), 0, -1):
                known = self._full.get(tuple(parts[:length]))
                if known is not None:
                    full.append(known)
                    parts = parts[length:]
                    break
            else:
                full.append(parts.pop(0))
        return " ".join(full)


@cache
def common_synonyms() -> Synonyms:
    """Return the abbreviations of common diagnoses that come with this package."""
    path = files("medeval.metrics").joinpath("data", "diagnoses.json")
    return Synonyms(json.loads(path.read_text(encoding="utf-8")))


@metric(
    "clinical_correctness",
    "answer equals the gold, abbreviations written out",
    of_texts=True,
    binary=True,
)
@metric(
    "diagnostic_accuracy",
    "diagnosis equals the gold, abbreviations written out",
    of_texts=True,
    binary=True,
)
def same_diagnosis(reference: str, hypothesis: str, *, synonyms: Synonyms) -> float | None:
    """Return 1 if both mean one diagnosis, else 0; None without a reference."""
    return synonyms.same(reference, hypothesis)


def ranking(output: Mapping[str, object], key: str = "diagnosis") -> list[str]:
    """Return the diagnoses of an output, the likeliest first, each once.

    The diagnosis itself is the first choice, wherever it stands in `differential_diagnosis`. One
    who gives no differential has named one diagnosis, and is not spared the question.
    """
    listed = output.get("differential_diagnosis")
    further = listed if isinstance(listed, (list, tuple)) else [listed]
    named = (text_of(one) for one in (output.get(key), *further))
    return list(dict.fromkeys(one for one in named if normalised(one)))


@metric("mrr", "1 over the rank of the gold diagnosis")
def reciprocal_rank(item: Item, *, synonyms: Synonyms) -> float | None:
    """Return 1 over the gold's place in the ranking, 0 if it is not there; None without a gold.

    Two names of one diagnosis take one place.
    """
    wanted = synonyms.expanded(item.reference_text)
    if not wanted:
        return None
    ranked = ranking(item.output, item.target)
    distinct = list(dict.fromkeys(synonyms.expanded(diagnosis) for diagnosis in ranked))
    return 1 / (distinct.index(wanted) + 1) if wanted in distinct else 0.0


def _top(k: int, name: str) -> None:
    @metric(f"top_{k}", f"{name} is the gold", binary=True)
    def among(item: Item, *, synonyms: Synonyms) -> float | None:
        found = reciprocal_rank(item, synonyms=synonyms)
        return None if found is None else float(found >= 1 / k)


_top(1, "the first diagnosis")
_top(3, "one of the first 3 diagnoses")
_top(5, "one of the first 5 diagnoses")


def _is_edge(character: str) -> bool:
    return (
        character in _EDGE_CHARACTERS
        or character.isspace()
        or unicodedata.category(character) in _EDGE_CATEGORIES
    )
