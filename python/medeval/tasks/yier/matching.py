"""Which option a string means: exact text, folded text, letters, a label with text, or none."""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from medeval.errors import UserError

EDGES = "。．.；;，,、：:！!？?\"'“”‘’「」『』《》"
BRACKETS = "()[]{}（）［］｛｝【】〔〕"

_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060\ufeff]")
_BLANKS = re.compile(r"\s+")
_MANY_BLANKS = re.compile(r"\s{3,}")
# Simplified characters and the traditional ones in their place.
_TRADITIONAL = dict(
    zip(
        "两个为于参别则对应当择标准确终该这选项会们误学设话综题见数须规错",
        "兩個為於參別則對應當擇標準確終該這選項會們誤學設話綜題見數須規錯",
        strict=True,
    )
)


def either_script(words: str) -> str:
    """Return a pattern that takes each character of the words in either script.

    Args:
        words: simplified; a regular expression without character classes.
    """
    return "".join(
        f"[{sign}{_TRADITIONAL[sign]}]" if sign in _TRADITIONAL else sign for sign in words
    )


def canonical(text: str) -> str:
    """Return the exact form: composed, without zero-width characters and outer blanks."""
    return unicodedata.normalize("NFC", _ZERO_WIDTH.sub("", text)).strip()


def compatible(text: str) -> str:
    """Return the text with full-width and other compatible characters as plain ones, trimmed."""
    return unicodedata.normalize("NFKC", _ZERO_WIDTH.sub("", text)).strip()


def few_blanks(text: str) -> str:
    """Return the text with one blank, or one line break, for three blanks in a row or more.

    What reads it then looks at each blank a few times, however many there were.
    """
    return _MANY_BLANKS.sub(lambda found: "\n" if "\n" in found[0] else " ", text)


def fold(text: str) -> str:
    """Return the folded form: compatible, of one case, without blanks and edge punctuation."""
    folded = unicodedata.normalize("NFKC", compatible(text).casefold())
    return _BLANKS.sub("", folded).strip(EDGES)


LETTERS = string.ascii_uppercase
MOST_OPTIONS = len(LETTERS)
SEPARATOR = r"(?:\s|[,，、;；/&]|和|及|与|與|and(?![A-Za-z]))"
_EDGES = EDGES + BRACKETS + " \t\r\n"
_WORD_FOR_OPTION = either_script("选项")
_OPTION = re.compile(rf"(?:{_WORD_FOR_OPTION}|options?(?![a-z]))\s*[:：]?\s*", re.IGNORECASE)
_RUN = re.compile(rf"[A-Z](?:(?:{SEPARATOR}|[()\[\]])*[A-Z])+")
# Roman numerals as one character would become letters.
_NUMBER_FORMS = re.compile("[\u2150-\u218f]")
_LABEL = re.compile(
    rf"\s*(?:(?:{_WORD_FOR_OPTION}|option)\s*)?"
    r"(?:[(（\[［【]\s*(?P<inside>[A-Za-zＡ-Ｚａ-ｚ])\s*[)）\]］】]\s*[.．、,，:：;；]?"
    r"|(?P<before>[A-Za-zＡ-Ｚａ-ｚ])\s*[.．、,，:：;；)）\]］】])"
    r"\s*(?P<text>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_LETTER_FIRST = re.compile(r"\s*(?P<letter>[A-Za-zＡ-Ｚａ-ｚ])\s*(?P<text>\S.*)", re.DOTALL)
_LETTER_WITH_BRACKET = re.compile(
    r"\s*(?P<letter>[A-ZＡ-Ｚ])\s*[(（\[［【](?P<text>[^()（）\[\]［］【】]{2,})[)）\]］】]\s*"
)
_TEXT_WITH_LETTER = re.compile(
    r"\s*(?P<text>\S.*)[(（\[［【]\s*(?P<letter>[A-ZＡ-Ｚ])\s*[)）\]］】]\s*", re.DOTALL
)


def named_letters(text: str) -> list[str]:
    """Return the letters that a string names, capitals, in its order; none if it is no such string.

    One letter of either case, or several capitals with nothing or separators between them.
    """
    if _NUMBER_FORMS.search(text):
        return []
    bare = compatible(text).strip(_EDGES)
    bare = _OPTION.sub("", bare, count=1) if _OPTION.match(bare) else bare
    bare = bare.strip(_EDGES)
    if len(bare) == 1 and bare in string.ascii_letters:
        return [bare.upper()]
    if not _RUN.fullmatch(bare):
        return []
    return [letter for letter in bare if letter in LETTERS]


def split_label(text: str) -> tuple[str, str] | None:
    """Return label and text of "A. text", "A、text" or "(A) text"; None if it is no such."""
    found = _LABEL.fullmatch(canonical(text))
    return found and (compatible(found["inside"] or found["before"]).upper(), found["text"])


class Step(StrEnum):
    """How a string was matched."""

    EXACT = "exact"
    FOLDED = "folded"
    LETTERS = "letters"
    LABEL = "label"
    NONE = "none"


@dataclass(frozen=True)
class Answers:
    """What strings mean.

    Attributes:
        options: places of the options from 0, sorted, each once.
        unknown: what is no option, each once (folded), in the order of the strings.
        n_duplicates: how many answers were there already.
        warnings: labels that disagree with their text.
        step: how one string was matched; None where there may be several.
    """

    options: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    n_duplicates: int = 0
    warnings: tuple[str, ...] = ()
    step: Step | None = None

    def texts(self, selection: Sequence[str]) -> list[str]:
        """Return the answers as text: options in the order of the selection, then the others."""
        return [*(selection[place] for place in self.options), *self.unknown]


class Options:
    """The options of one question, ready to be matched.

    Attributes:
        texts: the options' texts in file order.
        shown: the same without running labels of their own.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = tuple(texts)
        forms = [self.texts]
        labels = [split_label(text) for text in texts[:MOST_OPTIONS]]
        if [label and label[0] for label in labels] == list(LETTERS[: len(texts)]):
            forms.append(tuple(label[1] for label in labels if label))
        self.shown = tuple(text.strip() for text in forms[-1])
        # How texts are compared, the exact form first; a key of several options is of none.
        self._places: list[tuple[Step, Callable[[str], str], dict[str, int]]] = []
        for step, key_of in ((Step.EXACT, canonical), (Step.FOLDED, fold)):
            for keys in ([key_of(text) for text in form] for form in forms):
                once = {key: at for at, key in enumerate(keys) if key and keys.count(key) == 1}
                self._places.append((step, key_of, once))

    @property
    def longest_mention(self) -> int:
        """A text longer than this, with blanks and a label, is no option and no run of letters."""
        return max(200, 4 * max(map(len, self.texts), default=0) + 40)

    def __len__(self) -> int:
        return len(self.texts)

    def match(self, text: str) -> Answers:
        """Match one string that is not blank."""
        exact = self._by_text(text)
        if exact is not None:
            return exact
        letters = named_letters(text)
        if letters:
            return self.by_letters(letters)
        return self._by_label(text) or Answers(unknown=(canonical(text),), step=Step.NONE)

    def by_letters(self, letters: Sequence[str]) -> Answers:
        """Take letters as places; one past the last option is an unknown answer."""
        known = [LETTERS.index(letter) for letter in letters]
        return Answers(
            tuple(place for place in known if place < len(self)),
            tuple(LETTERS[place] for place in known if place >= len(self)),
            step=Step.LETTERS,
        )

    def answers(self, value: object) -> Answers:
        """Match a list of strings, a bare string, or nothing.

        Args:
            value: what a record has; None is an empty list. A number is its text, never a place.

        Raises:
            UserError: a value that is no string.
        """
        options: set[int] = set()
        unknown: dict[str, str] = {}
        warnings: list[str] = []
        mentions = 0
        for text in answer_texts(value):
            found = self.match(text)
            mentions += len(found.options) + len(found.unknown)
            options.update(found.options)
            for other in found.unknown:
                unknown.setdefault(fold(other) or other, other)
            warnings += found.warnings
        surplus = mentions - len(options) - len(unknown)
        return Answers(tuple(sorted(options)), tuple(unknown.values()), surplus, tuple(warnings))

    def _by_text(self, text: str) -> Answers | None:
        for step, key_of, places in self._places:
            if (key := key_of(text)) in places:
                return Answers((places[key],), step=step)
        return None

    def _by_label(self, text: str) -> Answers | None:
        labelled = split_label(text)
        # "A text", "A (text)" or "text (A)" may be no label at all.
        patterns = [] if labelled else [_LETTER_WITH_BRACKET, _TEXT_WITH_LETTER, _LETTER_FIRST]
        loose = next(filter(None, (one.fullmatch(canonical(text)) for one in patterns)), None)
        if loose is not None:
            labelled = compatible(loose["letter"]).upper(), loose["text"]
        letter, said = labelled or ("", "")
        found = self._by_text(said)
        if found is None:
            return None
        (place,) = found.options
        if letter == LETTERS[place]:
            return Answers((place,), step=Step.LABEL)
        # "A text" may be a word and a letter of its own: a label only if it fits its text.
        if loose is not None:
            return None
        disagrees = f"label {letter} stands before the text of option {LETTERS[place]}"
        return Answers((place,), warnings=(disagrees,), step=Step.LABEL)


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
