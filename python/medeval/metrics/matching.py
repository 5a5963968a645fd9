"""Answers compared as whole texts, as bags of tokens, and as ranked diagnoses."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial

from medeval.metrics.metric import Item, metric
from medeval.metrics.text import WORD, has_cjk, text_of, vocabulary

_EDGE_CATEGORIES = ("Ps", "Pe", "Pi", "Pf")
# Not %, +, * or a hyphen: "5%" is not 5, and "Rh-" not Rh.
_EDGE_CHARACTERS = frozenset(" .,;:!?'\"…。、·¿¡")


def normalised(text: str) -> str:
    """Return the text in compatibility form, caseless, single-spaced, without edge punctuation."""
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    brackets = {one for one in text if unicodedata.category(one) in _EDGE_CATEGORIES}
    return text.strip("".join(brackets | _EDGE_CHARACTERS))


def tokens(text: str) -> list[str]:
    """Return the normalised tokens of a text; each CJK character is one."""
    bare = filter(None, map(normalised, normalised(text).split()))
    return [token for run in bare for token in (WORD.findall(run) if has_cjk(run) else [run])]


@metric("exact_match", "accuracy", of_texts=True)
def exact_match(reference: str, hypothesis: str) -> float | None:
    """Return 1 if both normalised texts are equal, else 0; None without a reference."""
    wanted = normalised(reference)
    return float(wanted == normalised(hypothesis)) if wanted else None


@metric("token_f1", of_texts=True)
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
    return Synonyms(vocabulary("diagnoses"))


@metric("clinical_correctness", "diagnostic_accuracy", of_texts=True)
def same_diagnosis(reference: str, hypothesis: str, *, synonyms: Synonyms) -> float | None:
    """Return 1 if both mean one diagnosis, else 0; None without a reference."""
    wanted = synonyms.expanded(reference)
    return float(wanted == synonyms.expanded(hypothesis)) if wanted else None


@metric("mrr")
def reciprocal_rank(item: Item, *, synonyms: Synonyms) -> float | None:
    """Return 1 over the gold's place in the ranking, 0 if it is not there; None without a gold.

    The diagnosis itself is the first choice, wherever it stands in `differential_diagnosis`. One
    who gives no differential has named one diagnosis, and is not spared the question. Two names of
    one diagnosis take one place.
    """
    wanted = synonyms.expanded(item.reference_text)
    if not wanted:
        return None
    listed = item.output.get("differential_diagnosis")
    further = listed if isinstance(listed, (list, tuple)) else [listed]
    named = [text for one in further if normalised(text := text_of(one))]
    own = [item.output_text] if normalised(item.output_text) else []
    distinct = list(dict.fromkeys(map(synonyms.expanded, own + named)))
    return 1 / (distinct.index(wanted) + 1) if wanted in distinct else 0.0


def _among_the_first(k: int, item: Item, *, synonyms: Synonyms) -> float | None:
    found = reciprocal_rank(item, synonyms=synonyms)
    return None if found is None else float(found >= 1 / k)


for _k in (1, 3, 5):
    metric(f"top_{_k}")(partial(_among_the_first, _k))
