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

from medeval.errors import UserError

LETTERS = string.ascii_uppercase
MOST_OPTIONS = len(LETTERS)
EDGES = "。．.；;，,、：:！!？?\"'“”‘’「」『』《》"
_BRACKETS = "()[]{}（）［］｛｝【】〔〕"
_OUTER = EDGES + _BRACKETS + " \t\r\n"

_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060\ufeff]")
_OPTION = re.compile(r"\A(?:[选選][项項]|options?(?![a-z]))\s*[:：]?\s*", re.IGNORECASE)
_BETWEEN = r"(?:\s|[,，、;；/&()\[\]]|和|及|与|與|and(?![A-Za-z]))"
_RUN = re.compile(rf"[A-Z](?:{_BETWEEN}*[A-Z])+")
# Roman numerals as one character would become letters.
_NUMBER_FORMS = re.compile("[\u2150-\u218f]")
_LETTER, _TEXT = "(?P<letter>[A-Za-zＡ-Ｚａ-ｚ])", r"(?P<text>\S.*)"
_OPEN, _CLOSE, _STOPS = r"[(（\[［【]\s*", r"\s*[)）\]］】]", ".．、,，:：;；"
# "(A) text", "A. text" and "A、text" have a label.
_LABELLED = [
    re.compile(rf"\s*(?:(?:[选選][项項]|option)\s*)?{label}\s*{_TEXT}", re.IGNORECASE | re.DOTALL)
    for label in (rf"{_OPEN}{_LETTER}{_CLOSE}\s*[{_STOPS}]?", rf"{_LETTER}\s*[{_STOPS})）\]］】]")
]
# "A (text)", "text (A)" and "A text" may have none.
_CAPITAL = "(?P<letter>[A-ZＡ-Ｚ])"
_PERHAPS_LABELLED = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        rf"\s*{_CAPITAL}\s*[(（\[［【](?P<text>[^()（）\[\]［］【】]{{2,}})[)）\]］】]\s*",
        rf"\s*{_TEXT}{_OPEN}{_CAPITAL}{_CLOSE}\s*",
        rf"\s*{_LETTER}\s*{_TEXT}",
    )
]


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
    return unicodedata.normalize(form, _ZERO_WIDTH.sub("", text)).strip()


def fold(text: str) -> str:
    """Return the folded form: compatible, of one case, without blanks and edge punctuation."""
    folded = unicodedata.normalize("NFKC", canonical(text, "NFKC").casefold())
    return re.sub(r"\s+", "", folded).strip(EDGES)


def named_letters(text: str) -> list[str]:
    """Return the letters that a string names, capitals, in its order; none if it is no such string.

    One letter of either case, or several capitals with nothing or separators between them.
    """
    if _NUMBER_FORMS.search(text):
        return []
    bare = _OPTION.sub("", canonical(text, "NFKC").strip(_OUTER)).strip(_OUTER)
    if len(bare) == 1 and bare in string.ascii_letters:
        return [bare.upper()]
    return [sign for sign in bare if sign in LETTERS] if _RUN.fullmatch(bare) else []


def split_label(text: str) -> tuple[str, str] | None:
    """Return label and text of "A. text", "A、text" or "(A) text"; None if it is no such."""
    return _split(text, _LABELLED)


def _split(text: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, str] | None:
    found = next(filter(None, (one.fullmatch(canonical(text)) for one in patterns)), None)
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
        labels = [split_label(text) for text in texts[:MOST_OPTIONS]]
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
        exact = self._by_text(text)
        if exact is not None:
            return exact
        letters = named_letters(text)
        if letters:
            return self.by_letters(letters)
        return self._by_label(text) or Choices(unknown=(canonical(text),), step=Step.NONE)

    def by_letters(self, letters: Iterable[str]) -> Choices:
        """Take letters as places; one past the last option is an unknown answer."""
        known = [LETTERS.index(letter) for letter in letters]
        n = len(self.texts)
        return Choices(
            tuple(place for place in known if place < n),
            tuple(LETTERS[place] for place in known if place >= n),
            step=Step.LETTERS,
        )

    def answers(self, value: object) -> Choices:
        """Match a list of strings, a bare string, or nothing.

        Args:
            value: None is an empty list. A number is its text, never a place.

        Raises:
            UserError: a value that is no string.
        """
        return together(map(self.match, answer_texts(value)))

    def _by_text(self, text: str) -> Choices | None:
        for step, key_of, places in self._places:
            if (key := key_of(text)) in places:
                return Choices((places[key],), step=step)
        return None

    def _by_label(self, text: str) -> Choices | None:
        labelled = split_label(text)
        letter, said = labelled or _split(text, _PERHAPS_LABELLED) or ("", "")
        found = self._by_text(said)
        if found is None:
            return None
        (place,) = found.options
        if letter == LETTERS[place]:
            return Choices((place,), step=Step.LABEL)
        # "A text" may be a word and a letter of its own: a label only if it fits its text.
        if labelled is None:
            return None
        disagrees = f"label {letter} stands before the text of option {LETTERS[place]}"
        return Choices((place,), warnings=(disagrees,), step=Step.LABEL)


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


def answer_texts(value: object, *, strict: bool = False) -> list[str]:
    """Return the strings of a list of answers that are not blank.

    Raises:
        UserError: a value that is no string, or with `strict` a number.
    """
    texts = []
    for item in [] if value is None else value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            names = {bool: "true or false", dict: "an object", list: "a list", type(None): "null"}
            kind = names.get(type(item), type(item).__name__)
            raise UserError(f"an answer is {kind}; it must be a string")
        if strict and not isinstance(item, str):
            raise UserError(f"the answer {item} is a number; it must be a string")
        texts.append(str(item))
    return [text for text in texts if canonical(text)]
