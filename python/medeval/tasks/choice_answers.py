"""What stands behind a cue, or a whole reply, as letters or option texts. Never a guess.

All texts are plain: half-width signs, simplified characters, no Markdown, few blanks.
"""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from itertools import chain, islice

from medeval.tasks.choices import (
    EDGES,
    LETTERS,
    PATTERNS,
    Choices,
    Options,
    Step,
    canonical,
    fold,
    named_letters,
    together,
)

_MOST_ITEMS = 60
_MOST_CUTS = 5
_LONGEST_UNKNOWN = 20
# Words that go on behind a lone letter, and behind a letter with a stop: the others are a name's,
# as in "A patient" and "E. coli".
_AFTER_LONE = {*("because", "since", "as", "for", "due", "given", "is", "are", "which", "based")}
_AFTER_LABEL = {*_AFTER_LONE, "the", "it", "this", "that", "these", "both", "all"}
_SIGN = PATTERNS["sign"]
_BETWEEN = " \n/&|,、;"


def read_part(part: str, options: Options) -> Choices | None:
    """Read what follows a cue; None if it is no answer.

    All of it, or its first sentence, may be letters and option texts; else it may begin with
    letters and go on with an explanation.
    """
    ends = islice(PATTERNS["sentence_end"].finditer(part), _MOST_CUTS)
    # A stop after letters may be that of a label: what follows it decides.
    cuts = [
        part[: end.start()]
        for end in ends
        if end.group() != "." or not named_letters(part[: end.start()])
    ]
    reason = PATTERNS["reason"].search(part)
    texts = [part, *cuts, *([part[: reason.start()]] if reason else [])]

    def whole(text: str) -> Choices | None:
        is_joined = PATTERNS["joined"].fullmatch(text.strip())
        return (
            read_all(text, options, bare_runs=True)
            or (_by_letters(text, options) if is_joined else None)
            or _labelled(text, options)
            or read_judged(text, options)
        )

    terms = (_known_and_unknown(text, options) for text in texts)
    found = next(filter(None, chain(map(whole, texts), terms)), None)
    return found or _leading_letters(part, options)


def read_all(text: str, options: Options, *, bare_runs: bool = False) -> Choices | None:
    """Read a text that is nothing but letters and option texts; None if anything else is in it.

    Args:
        text: its items are separated by commas, words for "and", or lines.
        options: the question's options.
        bare_runs: take letters without separators as such though some are past the last option.
    """
    if fold(text) and (whole := _item(text, options, alone=True, bare_runs=bare_runs)):
        return together([whole])
    pieces = PATTERNS["item_end"].split(text)
    if len(pieces) > 2 * _MOST_ITEMS:
        return None
    items: list[Choices] = []
    place = 0
    while place < len(pieces):
        # Options may hold commas and "and" themselves: the longest item that fits is taken.
        for end in range(len(pieces), place, -2) if fold(pieces[place]) else ():
            if item := _item("".join(pieces[place:end]), options):
                items.append(item)
                place = end + 1
                break
        else:
            if fold(pieces[place]):
                return None
            place += 2
    return together(items) if items else None


def _item(
    text: str, options: Options, *, alone: bool = False, bare_runs: bool = False
) -> Choices | None:
    if len(text) > options.longest_mention:
        return None
    found = options.match(text)
    if found.step is Step.LETTERS:
        bare = canonical(text, "NFKC").strip(EDGES + "()[]{}【】 ")
        is_word = len(bare) == 1 and bare.islower() and not alone
        if is_word or (found.unknown and not bare_runs and re.fullmatch("[A-Z]{2,}", bare)):
            return None
    return None if found.step is Step.NONE else found


def _by_letters(text: str, options: Options) -> Choices:
    return together([options.by_letters(sign for sign in text if sign in LETTERS)])


def _labelled(text: str, options: Options) -> Choices | None:
    """Read options between which blanks stand or nothing, each with its label and its own text."""
    pieces = [piece for piece in PATTERNS["next_label"].split(text) if piece.strip()]
    if not 2 <= len(pieces) <= _MOST_ITEMS:
        return None
    items = [_item(piece, options) for piece in pieces]
    named = [item for item in items if item and item.step is Step.LABEL and not item.warnings]
    return together(named) if len(named) == len(pieces) else None


def _known_and_unknown(text: str, options: Options) -> Choices | None:
    """Read a list in which some items are options and the others are short terms."""
    pieces = [piece for piece in PATTERNS["listed"].split(text) if fold(piece)]
    if not 2 <= len(pieces) <= _MOST_ITEMS or _SIGN.search(text):
        return None
    items: list[Choices] = []
    for piece in pieces:
        if not (item := _item(piece, options)):
            if len(fold(piece)) > _LONGEST_UNKNOWN or PATTERNS["no_term"].search(piece):
                return None
            item = Choices(unknown=(canonical(piece).strip(EDGES),), step=Step.NONE)
        items.append(item)
    # Beside letters, one that ends in a letter may be a letter in a phrase that is not known.
    is_phrase = all(item.step in (Step.LETTERS, Step.NONE) for item in items) and any(
        item.step is Step.NONE and PATTERNS["last_letter"].search(item.unknown[0]) for item in items
    )
    found = together(items)
    return found if found.options and not is_phrase else None


def read_judged(text: str, options: Options, signs: re.Pattern[str] = _SIGN) -> Choices | None:
    """Read options with signs beside them: "A错误，B正确", "A (wrong), B (right)", "not A but B".

    What is rejected is no answer. Where some are accepted and some rejected, each must be one or
    the other; where nothing is left, nothing is read.
    """
    for pattern in ("not_but", "but_not"):
        if (said := PATTERNS[pattern].fullmatch(text)) and len(text) <= options.longest_mention:
            kept, out = (read_all(said[name], options) for name in ("in", "out"))
            return kept if kept and out and not set(kept.options) & set(out.options) else None
    if (marked := read_signs(text, options, signs)) is None:
        return None
    kept, rejected = together([*marked[0], *marked[1]]), together(marked[2])
    is_clear = not all(marked) and not set(kept.options) & set(rejected.options)
    return kept if is_clear and (kept.options or kept.unknown) else None


def read_signs(
    text: str, options: Options, signs: re.Pattern[str] = _SIGN
) -> tuple[list[Choices], list[Choices], list[Choices]] | None:
    """Return what stands in a text without a sign, accepted and rejected; None if more is in it."""
    found = list(islice(signs.finditer(text), _MOST_ITEMS + 1))
    if not found or len(found) > _MOST_ITEMS:
        return None
    bare: list[Choices] = []
    judged: dict[bool, list[Choices]] = {True: [], False: []}
    # A sign stands behind what it is of, unless the text begins with one.
    is_before = not fold(text[: found[0].start()]) and found[0].lastgroup in ("out", "in")
    ends = [0, *(one.end() for one in found)]
    starts = [*(one.start() for one in found), len(text)]
    for number, sign in enumerate(found):
        said = text[ends[number + is_before] : starts[number + is_before]].strip(_BETWEEN)
        first, last = (None, read_all(said, options)) if is_before else _parted(said, sign, options)
        if last is None:
            return None
        bare += [first] if first else []
        judged[_is_out(sign)].append(last)
    rest = "" if is_before else text[ends[-1] :].strip(_BETWEEN)
    if fold(rest):
        if not (last := read_all(rest, options)):
            return None
        bare.append(last)
    return bare, judged[False], judged[True]


def _parted(
    text: str, sign: re.Match[str], options: Options
) -> tuple[Choices | None, Choices | None]:
    """Return what stands before a sign: what it is not of, and what it is of; None for neither."""
    named = sign.groupdict()
    places = [(0, 0)]
    if not (named.get("word_out") or named.get("word_in")):
        places += [one.span() for one in PATTERNS["item_end"].finditer(text)]
    elif not named["all"]:
        places += [one.span() for one in re.finditer(r"[,;\n]", text)]
        if len(places) > 1 and re.search(r"\band\b", text):
            return None, None  # "A, B and C incorrect": of all, or of the last two
    for start, end in reversed(places[-_MOST_ITEMS:]):
        if last := read_all(text[end:], options):
            first = read_all(text[:start], options)
            return (None, None) if first is None and fold(text[:start]) else (first, last)
    return None, None


def _is_out(sign: re.Match[str] | None) -> bool:
    """Tell whether a sign says that what is beside it is no answer."""
    return sign is not None and (sign.lastgroup or "").endswith("out")


def _leading_letters(part: str, options: Options) -> Choices | None:
    """Read the letters that a text begins with, if what follows them is an explanation."""
    # A sign of rejection in brackets stays as one.
    text = PATTERNS["aside"].sub(
        lambda aside: " ×" if _is_out(_SIGN.match(aside[0])) else " ", part
    )
    found = PATTERNS["first_letters"].match(text)
    if found is None:
        return None
    run = found[1].rstrip()
    rest = text[found.start(1) + len(run) :]
    word = PATTERNS["lower_word"].match(rest)
    if run[-1] in "AI" and word is not None and word[1] not in _AFTER_LONE:
        # "B, A rash came later": the last letter is an English word.
        before = _by_letters(run[:-1], options)
        return before if before.options or before.unknown else None
    is_one = sum(sign in LETTERS for sign in run) == 1
    sign, after_stop = _SIGN.match(rest.lstrip(" ")), PATTERNS["after_stop"].match(rest)
    goes_on = (
        PATTERNS["goes_on"].match(rest)
        or (run[-1] in LETTERS and PATTERNS["term"].match(rest))
        # Of several letters it may be of the last one, or of all.
        or (sign is not None and (not is_one or _is_out(sign)))
        # E. coli
        or (is_one and after_stop and after_stop[1] not in _AFTER_LABEL)
    )
    return None if goes_on else _by_letters(run, options)
