"""Answers compared as whole texts, as bags of tokens, and as ranked diagnoses."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from medeval.metrics.text import has_cjk, text_of, words

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


def exact_match(reference: str, hypothesis: str) -> float | None:
    """Return 1 if both normalised texts are equal, else 0; None without a reference."""
    wanted = normalised(reference)
    return float(wanted == normalised(hypothesis)) if wanted else None


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


def ranking(output: Mapping[str, object], key: str = "diagnosis") -> list[str]:
    """Return the diagnoses of an output, the likeliest first, each once.

    The diagnosis itself is the first choice, wherever it stands in `differential_diagnosis`. One
    who gives no differential has named one diagnosis, and is not spared the question.
    """
    listed = output.get("differential_diagnosis")
    further = listed if isinstance(listed, (list, tuple)) else [listed]
    named = (text_of(one) for one in (output.get(key), *further))
    return list(dict.fromkeys(one for one in named if normalised(one)))


def rank(reference: str, ranked: Iterable[str], synonyms: Synonyms) -> int | None:
    """Return the place, from 1, of the first diagnosis that is the reference; None without."""
    distinct: list[str] = []
    for diagnosis in ranked:
        expanded = synonyms.expanded(diagnosis)
        if expanded not in distinct:
            distinct.append(expanded)
    wanted = synonyms.expanded(reference)
    return distinct.index(wanted) + 1 if wanted in distinct else None


def top_k(reference: str, ranked: Iterable[str], k: int, synonyms: Synonyms) -> float | None:
    """Return 1 if the reference is among the first k, else 0; None without a reference."""
    if not normalised(reference):
        return None
    place = rank(reference, ranked, synonyms)
    return float(place is not None and place <= k)


def reciprocal_rank(reference: str, ranked: Iterable[str], synonyms: Synonyms) -> float | None:
    """Return 1 over the reference's place, 0 if it is not there; None without a reference."""
    if not normalised(reference):
        return None
    place = rank(reference, ranked, synonyms)
    return 1 / place if place else 0.0


def _is_edge(character: str) -> bool:
    return (
        character in _EDGE_CHARACTERS
        or character.isspace()
        or unicodedata.category(character) in _EDGE_CATEGORIES
    )
