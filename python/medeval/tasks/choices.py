"""The options of a multiple-choice question, and which of them a string means.

A string is an option by its exact text, else by its folded text, else as letters for places, else
as a label with the option's text; what is none of these is an unknown answer, and kept.
"""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from medeval.files import toml_beside
from medeval.text import ANSWER_NAMES, compiled

LETTERS = string.ascii_uppercase
MOST_OPTIONS = len(LETTERS)
EDGES = "。．.；;，,、：:！!？?\"'“”‘’「」『』《》"
_OUTER = EDGES + "()[]{}（）［］｛｝【】〔〕 \t\r\n"
_KNOWN = toml_beside(__file__, "choices.toml")
PATTERNS = compiled(_KNOWN["patterns"], {"answers": ANSWER_NAMES})
WORDS, LIMITS = _KNOWN["words"], _KNOWN["limits"]
_LABELLED = ("label_in_brackets", "label_with_stop")
_PERHAPS_LABELLED = ("text_in_brackets", "letter_in_brackets", "letter_and_text")


class Step(StrEnum):
    """How a string was matched, how a reply was read, or why it was not."""

    EXACT = "exact"
    FOLDED = "folded"
    LETTERS = "letters"
    LABEL = "label"
    NONE = "none"
    JSON = "json"
    BOXED = "boxed"
    CUE = "cue"
    WHOLE = "whole"
    OUT_OF_RANGE = "out_of_range"
    UNPARSED = "unparsed"
    EMPTY = "empty"
    TRUNCATED_REASONING = "truncated_reasoning"


@dataclass(frozen=True)
class Choices:
    """What an answer means.

    Attributes:
        options: places of the chosen options from 0, sorted, each once.
        unknown: what is no option, each once (folded), in the order in which it was said.
        n_duplicates: how many answers were there already.
        warnings: labels that disagree with their text.
        step: how a string was matched or a reply was read; None for a list of strings.
    """

    options: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    n_duplicates: int = 0
    warnings: tuple[str, ...] = ()
    step: Step | None = None

    @property
    def letters(self) -> list[str]:
        """The letters of the chosen options."""
        return [LETTERS[place] for place in self.options]

    @property
    def is_read(self) -> bool:
        """Whether a reply holds an answer."""
        return self.step not in (Step.UNPARSED, Step.EMPTY, Step.TRUNCATED_REASONING)

    def texts(self, options: Sequence[str]) -> list[str]:
        """Return the answers as text: options in their own order, then what is no option."""
        return [*(options[place] for place in self.options), *self.unknown]


def canonical(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """Return the exact form: composed, without zero-width characters and outer blanks.

    Args:
        text: any.
        form: of Unicode; NFKC makes full-width and other compatible characters plain ones.
    """
    return unicodedata.normalize(form, PATTERNS["zero_width"].sub("", text)).strip()


def fold(text: str) -> str:
    """Return the folded form: compatible, of one case, without blanks and edge punctuation."""
    folded = unicodedata.normalize("NFKC", canonical(text, "NFKC").casefold())
    return re.sub(r"\s+", "", folded).strip(EDGES)


def named_letters(text: str) -> list[str]:
    """Return the letters that a string names, capitals, in its order; none if it is no such string.

    One letter of either case, or several capitals with nothing or separators between them.
    """
    if PATTERNS["number_forms"].search(text):
        return []
    bare = PATTERNS["option_word"].sub("", canonical(text, "NFKC").strip(_OUTER)).strip(_OUTER)
    if len(bare) == 1 and bare in string.ascii_letters:
        return [bare.upper()]
    return [sign for sign in bare if sign in LETTERS] if PATTERNS["letters"].fullmatch(bare) else []


def _split_label(text: str, forms: Iterable[str] = _LABELLED) -> tuple[str, str] | None:
    """Return label and text of "A. text", "A、text" or "(A) text"; None if it is no such."""
    found = next(filter(None, (PATTERNS[form].fullmatch(canonical(text)) for form in forms)), None)
    return found and (canonical(found["letter"], "NFKC").upper(), found["text"])


class Options:
    """The options of one question, ready to be matched.

    Attributes:
        texts: the options' texts in their order.
        shown: the same without running labels of their own.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = tuple(texts)
        forms = [self.texts]
        labels = [_split_label(text) for text in texts[:MOST_OPTIONS]]
        if [label and label[0] for label in labels] == list(LETTERS[: len(texts)]):
            forms.append(tuple(label[1] for label in labels if label))
        self.shown = tuple(text.strip() for text in forms[-1])
        # A text longer than this, with blanks and a label, is no option and no run of letters.
        self.longest_mention = max(200, 4 * max(map(len, self.texts), default=0) + 40)
        # How texts are compared, the exact form first; a key of several options is of none.
        self._places: list[tuple[Step, Callable[[str], str], dict[str, int]]] = []
        for step, key_of in ((Step.EXACT, canonical), (Step.FOLDED, fold)):
            for keys in ([key_of(text) for text in form] for form in forms):
                once = {key: at for at, key in enumerate(keys) if key and keys.count(key) == 1}
                self._places.append((step, key_of, once))

    def match(self, text: str) -> Choices:
        """Match one string that is not blank."""
        if found := self._by_text(text):
            return found
        if letters := named_letters(text):
            return self.by_letters(letters)
        return self._by_label(text) or Choices(unknown=(canonical(text),), step=Step.NONE)

    def by_letters(self, letters: Iterable[str]) -> Choices:
        """Take letters as places; one past the last option is an unknown answer."""
        known, n = [LETTERS.index(letter) for letter in letters], len(self.texts)
        places = tuple(place for place in known if place < n)
        unknown = tuple(LETTERS[place] for place in known if place >= n)
        return Choices(places, unknown, step=Step.LETTERS)

    def answers(self, value: object) -> Choices:
        """Match a list of strings, a bare string, or nothing.

        Args:
            value: None is an empty list. A number is its text, never a place.

        Raises:
            ValueError: a value that is no string.
        """
        return together(map(self.match, answer_texts(value)))

    def _by_text(self, text: str) -> Choices | None:
        for step, key_of, places in self._places:
            if (key := key_of(text)) in places:
                return Choices((places[key],), step=step)
        return None

    def _by_label(self, text: str) -> Choices | None:
        labelled = _split_label(text)
        letter, said = labelled or _split_label(text, _PERHAPS_LABELLED) or ("", "")
        if (found := self._by_text(said)) is None:
            return None
        (place,) = found.options
        if letter == LETTERS[place]:
            return Choices((place,), step=Step.LABEL)
        # "A text" may be a word and a letter of its own: a label only if it fits its text.
        disagrees = f"label {letter} stands before the text of option {LETTERS[place]}"
        return labelled and Choices((place,), warnings=(disagrees,), step=Step.LABEL)


def together(items: Iterable[Choices]) -> Choices:
    """Return what several strings mean, each option and each unknown answer once."""
    items = list(items)
    options = [place for item in items for place in item.options]
    said = [text for item in items for text in item.unknown]
    unknown: dict[str, str] = {}
    for text in said:
        unknown.setdefault(fold(text) or text, text)
    surplus = len(options) - len(set(options)) + len(said) - len(unknown)
    warnings = tuple(warning for item in items for warning in item.warnings)
    return Choices(tuple(sorted(set(options))), tuple(unknown.values()), surplus, warnings)


def answer_texts(value: object) -> tuple[str, ...]:
    """Return the strings of a list of answers that are not blank.

    Raises:
        ValueError: a value that is neither a string nor a number.
    """
    items = [] if value is None else value if isinstance(value, list | tuple) else [value]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            names = {bool: "true or false", dict: "an object", list: "a list", type(None): "null"}
            kind = names.get(type(item), type(item).__name__)
            raise ValueError(f"an answer is {kind}; it must be a string")
    return tuple(str(item) for item in items if canonical(str(item)))
