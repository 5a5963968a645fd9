"""The text after a cue, or a whole reply, read as letters or option texts. Never a guess."""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from medeval.tasks.yier.matching import (
    EDGES,
    LETTERS,
    Answers,
    Options,
    Step,
    canonical,
    compatible,
    either_script,
    few_blanks,
    fold,
    named_letters,
)

_ITEM_END = re.compile(
    r"(\s*(?:[,，、;；\n]\s*)?(?:和|及|与|與|以及|(?<![A-Za-z])and(?![A-Za-z]))\s*"
    r"|\s*[,，、;；\n]+\s*)"
)
_SENTENCE_END = re.compile(r"[。!?！？]|\.(?=\s)|\.$")
_REASON = re.compile(
    rf"\s*[,，;；]?\s*(?:{either_script('因为|由于')}|(?<![A-Za-z])(?:because|since)(?![A-Za-z]))"
    r"|[,，;；]\s*而?不[应應]?[选選]",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\s*(?:[、;；]|和|及|与|與|以及)\s*")
_NO_ITEM = re.compile(
    r"[,，。!?:]|因|由|理由|解析|不|(?<![A-Za-z])(?:because|since|not)(?![A-Za-z])"
)
_LONE_LETTER = re.compile(r"[A-Z](?![A-Za-z0-9])")
_LAST_LETTER = re.compile(r"(?<![A-Za-z0-9])[A-Z]$")
_MOST_ITEMS = 60
_MOST_CUTS = 5
_LONGEST_UNKNOWN = 20

_GAP = r"(?:\s|[,、;/&]|和|及|与|與|and(?=[\s(A-Z\[]))"
_UNIT = r"(?:[选選][项項])?[(\[{【〔]*\s*[A-Z]\s*[)\]}】〕]*(?:[选選]?[项項](?!目))?"
_PREFIX = re.compile(rf"(?:[Oo]ptions?\s)?\s*({_UNIT}(?:{_GAP}*{_UNIT})*)")
_ASIDE = re.compile(r"(?<=[A-Z项項])\s*\([^()]{2,}\)")
# A letter that goes on is part of a word or a term: B-cell, B12, C's.
_GOES_ON = re.compile(r"[A-Za-z0-9'’_+%\-–—~～∼>]")
# "A+C", "A | C", "A.C" are letters where nothing else stands; elsewhere they may be a term.
_JOINED = re.compile(r"[A-Z](?:(?:[.。]|\s?[+|·•]\s?)[A-Z])+[.。]?")
_JOINED_ON = re.compile(r"\s?[+|·•]|\.[A-Z](?![A-Za-z0-9(\-\u3400-\u9fff])")
_NEXT_LABEL = re.compile(
    r"(?:^|(?<=\s))(?=[(\[]?[A-Z](?:\s?[.、:)\]]|\s))"
    r"|(?<![A-Za-z0-9(\[])(?=[A-Z]\s?[.、:])|(?<=\S)(?=[(\[][A-Z]\s?[)\]])"
)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_CHINESE_AFTER = re.compile(
    either_script(
        "选项|(?:两|三|四|五|六)?项(?!目)|(?:两|三|四|五|六)个|因|由于|(?:均|都|是)?(?:正确|对|最)"
        "|是因为|符合|这|而(?:不|非)"
    )
    + r"|不[应應]?[选選]\s?[(\[]?[A-Z]"
)
_OR = re.compile(r"\s*/?\s*(?:or(?![A-Za-z])|或|[还還]是)")
# An answer that is changed, or a step to something: "A→C", "A → C"; "A → because" explains it.
_ARROW = re.compile(
    r"(?P<gap>\s*)(?:[→⇒⟶⟹➔➜➡]|[-=]+>|\\(?:(?:long|Long)?[Rr]ightarrow|to)(?![A-Za-z]))"
    r"\s*(?P<other>[(\[]?[A-Z](?![A-Za-z]))?"
)
_LOWER_WORD = re.compile(r"\s+([a-z][a-z'’]*)")
_AFTER_STOP = re.compile(r"\s*[.:)]\s*([a-z]+)")
_AFTER_LONE = frozenset(
    ["because", "since", "as", "for", "due", "given", "is", "are", "which", "based"]
)
_AFTER_LABEL = _AFTER_LONE | {"the", "it", "this", "that", "these", "both", "all"}
_MORE_LABELS = re.compile(r"(?<![A-Za-z])[A-Z]\s*[.、:)]\s*\S")

# Signs beside an option: that it is no answer, or that it is one.
_OUT, _IN = r"[×✗✘✕✖❌❎☒]\ufe0f?", r"[√✓✔✅☑]\ufe0f?"
_OUT_WORD = (
    either_script("错误|错|误|不正确|不对|不应选|不选|不符合|排除|否")
    + r"|(?<![A-Za-z])(?:incorrect|wrong|false|not (?:correct|right|true|an? answer)|no|excluded"
    r"|rejected|ruled out)(?![A-Za-z])"
)
_IN_WORD = (
    either_script("正确|对|符合|应选|选|是")
    + r"|(?<![A-Za-z])(?:correct|right|true|yes)(?![A-Za-z])"
)
SYMBOL = re.compile(rf"[ \t]?[(\[]?(?:(?P<out>{_OUT})|(?P<in>{_IN}))[)\]]?")
# In brackets and as a symbol a sign is of one option, said in words it is of all in its clause.
_SIGN = re.compile(
    rf"""\s?(?:
    [(\[【〔]\s?(?:is\s)?(?:(?P<aside_out>{_OUT}|[xX]|{_OUT_WORD})|(?P<aside_in>{_IN}|{_IN_WORD}))
        的?\s?(?:[,:;。、][^()\[\]【】〔〕]{{0,200}})?[)\]】〕]
    | (?P<out>{_OUT}) | (?P<in>{_IN})
    | (?:[选選]?[项項])?\s?[:=–—-]?\s?
        (?P<all>[都均全皆]|(?:are|were)(?:[ ](?:both|all))?(?![A-Za-z]))?\s?
        (?:[是为為]|(?:is|was)(?![A-Za-z]))?\s?(?:(?P<word_out>{_OUT_WORD})|(?P<word_in>{_IN_WORD}))
        的?(?:[选選]?[项項])?(?=\s?(?:[,;。.、\n]|[(\[]?[A-Z](?![A-Za-z])|\Z))
    )""",
    re.VERBOSE,
)
_BETWEEN = " \n/&|,，、;；"
_CLAUSE = re.compile(r"[,，;；\n]")
_NOT_BUT = re.compile(
    r"(?:not|不是|[并並]非|不[选選])\s?(?P<out>.+?)[,;]?\s?(?:but(?: rather)?|而是|而[应應]?[选選])"
    r"\s?(?P<in>.+)"
)
_BUT_NOT = re.compile(
    r"(?P<in>.+?)[,;]?\s?(?:(?:and|but)\s)?"
    r"(?:(?<![A-Za-z])(?:not|rather than)\s|而?不是|而非|而?不[选選])\s?(?P<out>.+)"
)


def read_part(part: str, options: Options) -> Answers | None:
    """Read what follows a cue; None if it is no answer.

    All of it, or its first sentence, may be letters and option texts; else it may begin with
    letters and go on with an explanation.
    """
    part = few_blanks(part)
    ends = islice(_SENTENCE_END.finditer(part), _MOST_CUTS)
    # A stop after letters may be that of a label: what follows it decides.
    cuts = [
        part[: end.start()]
        for end in ends
        if end.group() != "." or not named_letters(part[: end.start()])
    ]
    reason = _REASON.search(part)
    if reason is not None:
        cuts.append(part[: reason.start()])
    for text in [part, *cuts]:
        found = (
            read_all(text, options, bare_runs=True)
            or (_by_letters(text, options) if _JOINED.fullmatch(text.strip()) else None)
            or _labelled(text, options)
            or read_judged(text, options)
        )
        if found is not None:
            return found
    for text in [part, *cuts]:
        found = _known_and_unknown(text, options)
        if found is not None:
            return found
    return _leading_letters(part, options)


def read_all(text: str, options: Options, *, bare_runs: bool = False) -> Answers | None:
    """Read a text that is nothing but letters and option texts; None if anything else is in it.

    Args:
        text: the text; its items are separated by commas, words for "and", or lines.
        options: the question's options.
        bare_runs: take letters without separators as such though some are past the last option.
    """
    text = few_blanks(text)
    if not fold(text):
        return None
    whole = _item(text, options, alone=True, bare_runs=bare_runs)
    if whole is not None:
        return _together([whole])
    pieces = _ITEM_END.split(text)
    if len(pieces) == 1 or len(pieces) > 2 * _MOST_ITEMS:
        return None
    items: list[Answers] = []
    place = 0
    while place < len(pieces):
        if not fold(pieces[place]):
            place += 2
            continue
        # Options may hold commas and "and" themselves: the longest item that fits is taken.
        for end in range(len(pieces), place, -2):
            item = _item("".join(pieces[place:end]), options, alone=False, bare_runs=False)
            if item is not None:
                items.append(item)
                place = end + 1
                break
        else:
            return None
    return _together(items) if items else None


def _known_and_unknown(text: str, options: Options) -> Answers | None:
    """Read a list in which some items are options and the others are short terms."""
    pieces = [piece for piece in _LISTED.split(text) if fold(piece)]
    if len(pieces) < 2 or len(pieces) > _MOST_ITEMS or _SIGN.search(text):
        return None
    items: list[Answers] = []
    for piece in pieces:
        item = _item(piece, options, alone=False, bare_runs=False)
        if item is None:
            is_term = len(fold(piece)) <= _LONGEST_UNKNOWN and not _NO_ITEM.search(piece)
            if not is_term or _LONE_LETTER.match(piece):
                return None
            item = Answers(unknown=(canonical(piece).strip(EDGES),), step=Step.NONE)
        items.append(item)
    if not any(item.options for item in items):
        return None
    # Beside letters, one that ends in a letter may be a letter in a phrase that is not known.
    if all(item.step in (Step.LETTERS, Step.NONE) for item in items) and any(
        item.step is Step.NONE and _LAST_LETTER.search(item.unknown[0]) for item in items
    ):
        return None
    return _together(items)


def _item(text: str, options: Options, *, alone: bool, bare_runs: bool) -> Answers | None:
    if len(text) > options.longest_mention:
        return None
    found = options.match(text)
    if found.step is Step.NONE:
        return None
    if found.step is Step.LETTERS:
        bare = compatible(text).strip(EDGES + "()[]{}【】 ")
        if len(bare) == 1 and bare.islower() and not alone:
            return None
        if found.unknown and not bare_runs and re.fullmatch("[A-Z]{2,}", bare):
            return None
    return found


def _together(items: Sequence[Answers]) -> Answers:
    unknown = tuple(dict.fromkeys(text for item in items for text in item.unknown))
    return Answers(
        tuple(sorted({place for item in items for place in item.options})),
        unknown,
        warnings=tuple(warning for item in items for warning in item.warnings),
    )


def _by_letters(text: str, options: Options) -> Answers:
    return _together([options.by_letters([sign for sign in text if sign in LETTERS])])


def _labelled(text: str, options: Options) -> Answers | None:
    """Read options between which blanks stand or nothing, each with its label and its own text."""
    pieces = [piece for piece in _NEXT_LABEL.split(text) if piece.strip()]
    if not 2 <= len(pieces) <= _MOST_ITEMS:
        return None
    items = [_item(piece, options, alone=False, bare_runs=False) for piece in pieces]
    named = [item for item in items if item and item.step is Step.LABEL and not item.warnings]
    return _together(named) if len(named) == len(pieces) else None


def read_judged(text: str, options: Options, signs: re.Pattern[str] = _SIGN) -> Answers | None:
    """Read options with signs beside them: "A错误，B正确", "A (wrong), B (right)", "not A but B".

    What is rejected is no answer. Where some are accepted and some rejected, each must be one or
    the other; where nothing is left, nothing is read.
    """
    for pattern in (_NOT_BUT, _BUT_NOT):
        if (said := pattern.fullmatch(text)) and len(text) <= options.longest_mention:
            kept, out = (read_all(said[name], options) for name in ("in", "out"))
            return kept if kept and out and not set(kept.options) & set(out.options) else None
    marked = read_signs(text, options, signs)
    if marked is None:
        return None
    kept, rejected = _together([*marked[0], *marked[1]]), _together(marked[2])
    is_clear = not all(marked) and not set(kept.options) & set(rejected.options)
    return kept if is_clear and (kept.options or kept.unknown) else None


def read_signs(
    text: str, options: Options, signs: re.Pattern[str] = _SIGN
) -> tuple[list[Answers], list[Answers], list[Answers]] | None:
    """Return what stands in a text without a sign, accepted and rejected; None if more is in it."""
    found = list(islice(signs.finditer(text), _MOST_ITEMS + 1))
    if not found or len(found) > _MOST_ITEMS:
        return None
    bare: list[Answers] = []
    judged: dict[bool, list[Answers]] = {True: [], False: []}
    # A sign stands behind what it is of, unless the text begins with one.
    is_before = not fold(text[: found[0].start()]) and found[0].lastgroup in ("out", "in")
    ends = [one.start() for one in found[1:]] + [len(text)]
    begins = [0] + [one.end() for one in found]
    for number, sign in enumerate(found):
        start, end = (sign.end(), ends[number]) if is_before else (begins[number], sign.start())
        said = text[start:end].strip(_BETWEEN)
        if is_before:
            first, last = None, read_all(said, options)
        else:
            first, last = _before_sign(said, sign, options)
        if last is None:
            return None
        bare += [first] if first else []
        judged[not _is_out(sign)].append(last)
    rest = "" if is_before else text[begins[-1] :].strip(_BETWEEN)
    if fold(rest):
        read_rest = read_all(rest, options)
        if read_rest is None:
            return None
        bare.append(read_rest)
    return bare, judged[True], judged[False]


def _before_sign(
    text: str, sign: re.Match[str], options: Options
) -> tuple[Answers | None, Answers | None]:
    """Return what stands before a sign: what it is not of, and what it is of; None for neither."""
    named = sign.groupdict()
    places = [(0, 0)]
    if named.get("word_out") or named.get("word_in"):
        if not named["all"]:
            places = [*places, *(one.span() for one in _CLAUSE.finditer(text))]
        if len(places) > 1 and re.search(r"\band\b", text):
            return None, None  # "A, B and C incorrect": of all, or of the last two
    else:
        places = [*places, *(one.span() for one in _ITEM_END.finditer(text))]
    for start, end in reversed(places[-_MOST_ITEMS:]):
        last = read_all(text[end:], options)
        if last is not None:
            first = read_all(text[:start], options)
            return (None, None) if first is None and fold(text[:start]) else (first, last)
    return None, None


def _leading_letters(part: str, options: Options) -> Answers | None:
    # A sign of rejection in brackets stays as one.
    text = _ASIDE.sub(lambda aside: " ×" if _is_out(_SIGN.match(aside[0])) else " ", part)
    found = _PREFIX.match(text)
    if found is None:
        return None
    run = found[1].rstrip()
    rest = text[found.start(1) + len(run) :]
    letters = [sign for sign in run if sign in LETTERS]
    word = _LOWER_WORD.match(rest)
    if run[-1] in "AI" and word is not None and word[1] not in _AFTER_LONE:
        # "B, A rash came later": the last letter is an English word.
        return _together([options.by_letters(letters[:-1])]) if len(letters) > 1 else None
    return _by_letters(run, options) if _ends_here(run, rest, letters) else None


def _is_out(sign: re.Match[str] | None) -> bool:
    """Tell whether a sign says that what is beside it is no answer."""
    return sign is not None and (sign.lastgroup or "").endswith("out")


def _ends_here(run: str, rest: str, letters: list[str]) -> bool:
    """Tell whether the letters end where they seem to, and what follows is an explanation."""
    if _GOES_ON.match(rest) and run[-1] in LETTERS:
        return False
    if _OR.match(rest) or _JOINED_ON.match(rest):
        return False
    sign = _SIGN.match(rest.lstrip(" "))
    if sign is not None and (len(letters) > 1 or _is_out(sign)):
        return False  # of several letters it may be of the last one, or of all
    arrow = _ARROW.match(rest)
    if arrow is not None and (arrow["other"] or not arrow["gap"]):
        return False
    if _CHINESE.match(rest) and not _CHINESE_AFTER.match(rest):
        return False
    after_stop = _AFTER_STOP.match(rest)
    if after_stop and len(letters) == 1 and after_stop[1] not in _AFTER_LABEL:
        return False  # E. coli
    # With more labels after an unread text, the first letter is a part of the answer only.
    return not (re.match(r"\s*[.、:)]", rest) and _MORE_LABELS.search(rest))
