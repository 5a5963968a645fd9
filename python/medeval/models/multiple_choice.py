"""Options of a question and the letters of the right ones, however a file writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

LETTERS = ascii_uppercase

# "A. Fever", "(B) Cough": a letter of the file's own before the text.
_LABELLED = re.compile(r"\(?([A-Z])[).:\uff1a\u3001\uff0e]\s*(?=\S)")
_BETWEEN_ANSWERS = re.compile(r"[\s,;/&，；、]+(?:and\s+)?")


def options_of(given: Any) -> tuple[list[str], list[str]]:
    """Return the texts of the options, and what a file may call each of them by.

    Args:
        given: a list of texts, which are called by the letters from A on, or a mapping of names to
            texts. Empty ones at the end are left out: a table has a column for each. Running
            letters before the texts ("A. Fever") are taken off.

    Raises:
        ValueError: these are no options, or fewer than two, more than 26, empty or alike.
    """
    if isinstance(given, Mapping) and given.keys() == {"label", "text"}:
        # As ARC and CommonsenseQA are published: two lists side by side.
        given = dict(zip(given["label"], given["text"], strict=False))
    if not isinstance(given, Mapping | list | tuple):
        raise ValueError("options: write a list of texts, or a mapping of letters to texts")
    members = list(given.values() if isinstance(given, Mapping) else given)
    texts = ["" if one is None else str(one).strip() for one in members]
    while texts and not texts[-1]:
        texts.pop()
    if not 2 <= len(texts) <= len(LETTERS):
        raise ValueError(f"options: there are {len(texts)}; a question has 2 to {len(LETTERS)}")
    if not all(texts):
        raise ValueError(f"options: the one at {LETTERS[texts.index('')]} is empty")
    labels = [_LABELLED.match(text) for text in texts]
    if all(label and label[1] == letter for label, letter in zip(labels, LETTERS, strict=False)):
        texts = [_LABELLED.sub("", text, 1) for text in texts]
    if len({_folded(text) for text in texts}) < len(texts):
        raise ValueError("options: two of them are alike")
    names = list(map(str, given)) if isinstance(given, Mapping) else list(LETTERS)
    return texts, names[: len(texts)]


def letters_of(answer: Any, texts: Sequence[str], names: Sequence[str]) -> str:
    """Return the letters of the options that an answer names, in order: "C", or "A, C".

    Args:
        answer: the name or the text of an option; several in a list, or in one text such as
            "A, C", "A and C" or "AC".
        texts: of the options.
        names: what the file calls them by.

    Raises:
        ValueError: it names none, or one that there is not, or leaves open which.
    """

    def places(one: Any) -> list[int]:
        said = _folded(one)
        by_text = [place for place, text in enumerate(texts) if _folded(text) == said]
        by_name = [place for place, name in enumerate(names) if _folded(name) == said]
        if by_text and by_name and by_text != by_name:
            raise ValueError("answer: it is the name of one option and the text of another")
        if not by_text and (label := _LABELLED.match(text := str(one).strip())):
            by_label, rest = places(label[1]), places(text[label.end() :])
            return by_label if by_label == rest else []
        return by_text or by_name

    parts = answer if isinstance(answer, list | tuple) else [answer]
    if isinstance(answer, str) and not places(answer):
        is_run = re.fullmatch("[A-Z]+", answer.strip())
        parts = list(answer.strip()) if is_run else _BETWEEN_ANSWERS.split(answer.strip())
    found = [places(one) for one in parts]
    if not all(found) or not found:
        raise ValueError(
            "answer: it is none of the options; name the right ones by letter or by text"
            " (`answer_index` counts from 0)"
        )
    return ", ".join(LETTERS[place] for place in sorted({place for one in found for place in one}))


def letters_at(index: Any) -> list[str]:
    """Return the letters of places that are counted from 0, one or a list of them.

    Raises:
        ValueError: it is no such place.
    """
    given = index if isinstance(index, list | tuple) else [index]
    try:
        places = [int(one) for one in given if not isinstance(one, bool | float)]
        if len(places) == len(given) and min(places) >= 0:
            return [LETTERS[place] for place in places]
    except (ValueError, TypeError, IndexError):
        pass
    raise ValueError("answer_index: write the place of the right option, counted from 0")


def _folded(value: Any) -> str:
    return " ".join(str(value).split()).casefold()
