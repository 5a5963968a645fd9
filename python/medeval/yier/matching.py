"""Which option a string means: exact text, folded text, letters, a label with text, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from medeval.errors import UserError
from medeval.yier.folding import canonical, fold
from medeval.yier.letters import LETTERS, loose_label, named_letters, own_labels, split_label


class Step(StrEnum):
    """How a string was matched."""

    EXACT = "exact"
    FOLDED = "folded"
    LETTERS = "letters"
    LABEL = "label"
    NONE = "none"


@dataclass(frozen=True)
class Match:
    """What one string means.

    Attributes:
        step: how it was found.
        options: places of the options, from 0.
        unknown: what is no option, as text.
        warning: a label that disagrees with its text.
    """

    step: Step
    options: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    warning: str | None = None


@dataclass(frozen=True)
class Answers:
    """What a list of strings means.

    Attributes:
        options: places of the options, sorted, each once.
        unknown: what is no option, each once (folded), in the order of the list.
        n_duplicates: how many answers were there already.
        warnings: labels that disagree with their text.
    """

    options: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    n_duplicates: int = 0
    warnings: tuple[str, ...] = ()

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
        bare = own_labels(list(texts))
        self.shown = tuple(bare) if bare else tuple(text.strip() for text in texts)
        forms = [self.texts, tuple(bare)] if bare else [self.texts]
        self._exact = [_unique([canonical(text) for text in form]) for form in forms]
        self._folded = [_unique([fold(text) for text in form]) for form in forms]

    @property
    def longest_mention(self) -> int:
        """A text longer than this, with blanks and a label, is no option and no run of letters."""
        return max(200, 4 * max(map(len, self.texts), default=0) + 40)

    def __len__(self) -> int:
        return len(self.texts)

    def match(self, text: str) -> Match:
        """Match one string that is not blank."""
        exact = self._by_text(text)
        if exact is not None:
            return exact
        letters = named_letters(text)
        if letters:
            return self.by_letters(letters)
        return self._by_label(text) or Match(Step.NONE, unknown=(canonical(text),))

    def by_letters(self, letters: Sequence[str]) -> Match:
        """Take letters as places; one past the last option is an unknown answer."""
        known = [LETTERS.index(letter) for letter in letters]
        return Match(
            Step.LETTERS,
            tuple(place for place in known if place < len(self)),
            tuple(LETTERS[place] for place in known if place >= len(self)),
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
            if found.warning:
                warnings.append(found.warning)
        surplus = mentions - len(options) - len(unknown)
        return Answers(tuple(sorted(options)), tuple(unknown.values()), surplus, tuple(warnings))

    def _by_text(self, text: str) -> Match | None:
        exact, folded = canonical(text), fold(text)
        for step, forms, key in (
            (Step.EXACT, self._exact, exact),
            (Step.FOLDED, self._folded, folded),
        ):
            for form in forms:
                if key and key in form:
                    return Match(step, (form[key],))
        return None

    def _by_label(self, text: str) -> Match | None:
        labelled = split_label(text)
        if labelled is not None:
            return self._labelled(*labelled)
        # "A text" may be a word and a letter of its own: a label only if it fits its text.
        loose = loose_label(text)
        if loose is None:
            return None
        found = self._labelled(*loose)
        return found if found is not None and found.warning is None else None

    def _labelled(self, letter: str, text: str) -> Match | None:
        found = self._by_text(text)
        if found is None:
            return None
        place = found.options[0]
        warning = None
        if letter != LETTERS[place]:
            warning = f"label {letter} stands before the text of option {LETTERS[place]}"
        return Match(Step.LABEL, found.options, warning=warning)


def answer_texts(value: object, *, strict: bool = False) -> list[str]:
    """Return the strings of a list of answers that are not blank.

    Raises:
        UserError: a value that is no string, or with `strict` a number.
    """
    if value is None:
        return []
    items = list(value) if isinstance(value, list | tuple) else [value]
    texts = [item if isinstance(item, str) else _number_text(item, strict) for item in items]
    return [text for text in texts if canonical(text)]


def _number_text(value: object, strict: bool) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"an answer is {_kind(value)}; it must be a string")
    if strict:
        raise UserError(f"the answer {value} is a number; it must be a string")
    return str(value)


def _kind(value: object) -> str:
    names = {bool: "true or false", dict: "an object", list: "a list", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def _unique(keys: list[str]) -> dict[str, int]:
    """Return the place of each key that only one option has."""
    return {key: place for place, key in enumerate(keys) if key and keys.count(key) == 1}
