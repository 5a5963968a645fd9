"""What stands behind a cue, or a whole reply, as letters or option texts. Never a guess.

All texts are plain: half-width signs, simplified characters, no Markdown, few blanks.
"""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from itertools import islice

from medeval.tasks.choices import (
    EDGES,
    LETTERS,
    Choices,
    Options,
    Step,
    canonical,
    fold,
    named_letters,
    together,
)


def english(words: str) -> str:
    """Return a pattern of words with no letter before or behind them."""
    return rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])"


_MOST_ITEMS = 60
_MOST_CUTS = 5
_LONGEST_UNKNOWN = 20
_ITEM_END = re.compile(
    rf"(\s*(?:[,、;\n]\s*)?(?:和|及|与|以及|{english('and')})\s*|\s*[,、;\n]+\s*)"
)
_SENTENCE_END = re.compile(r"[。!?]|\.(?=\s|\Z)")
_REASON = re.compile(
    rf"\s*[,;]?\s*(?:因为|由于|{english('because|since')})|[,;]\s*而?不应?选", re.IGNORECASE
)
_LISTED = re.compile(r"\s*(?:[、;]|和|及|与|以及)\s*")
_NO_TERM = re.compile(
    rf"\A[A-Z](?![A-Za-z0-9])|[,。!?:]|因|由|解析|不|{english('because|since|not')}"
)
_LAST_LETTER = re.compile(r"(?<![A-Za-z0-9])[A-Z]$")

_GAP = r"(?:\s|[,、;/&]|和|及|与|and(?=[\s(A-Z\[]))"
_UNIT = r"(?:选项)?[(\[{【〔]*\s*[A-Z]\s*[)\]}】〕]*(?:选?项(?!目))?"
_PREFIX = re.compile(rf"(?:[Oo]ptions?\s)?\s*({_UNIT}(?:{_GAP}*{_UNIT})*)")
_ASIDE = re.compile(r"(?<=[A-Z项])\s*\([^()]{2,}\)")
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
    r"选项|[两三四五六]?项(?!目)|[两三四五六]个|因|由于|(?:均|都|是)?(?:正确|对|最)|是因为|符合|这"
    r"|而[不非]|不应?选\s?[(\[]?[A-Z]"
)
_OR = re.compile(r"\s*/?\s*(?:or(?![A-Za-z])|或|还是)")
# An answer that is changed, or a step to something: "A→C", "A → C"; "A → because" explains it.
_ARROW = re.compile(
    r"(?P<gap>\s*)(?:[→⇒⟶⟹➔➜➡]|[-=]+>|\\(?:(?:long|Long)?[Rr]ightarrow|to)(?![A-Za-z]))"
    r"\s*(?P<other>[(\[]?[A-Z](?![A-Za-z]))?"
)
_LOWER_WORD = re.compile(r"\s+([a-z][a-z'’]*)")
_AFTER_STOP = re.compile(r"\s*[.:)]\s*([a-z]+)")
_AFTER_LONE = {"because", "since", "as", "for", "due", "given", "is", "are", "which", "based"}
_AFTER_LABEL = {*_AFTER_LONE, "the", "it", "this", "that", "these", "both", "all"}
_MORE_LABELS = re.compile(r"\s*[.、:)].*(?<![A-Za-z])[A-Z]\s*[.、:)]\s*\S", re.DOTALL)

# Signs beside an option: that it is no answer, or that it is one.
_OUT, _IN = r"[×✗✘✕✖❌❎☒]\ufe0f?", r"[√✓✔✅☑]\ufe0f?"
_OUT_WORD = "错误|错|误|不正确|不对|不应选|不选|不符合|排除|否|" + english(
    "incorrect|wrong|false|not[ ](?:correct|right|true|an?[ ]answer)|no|excluded|rejected"
    "|ruled[ ]out"
)
_IN_WORD = "正确|对|符合|应选|选|是|" + english("correct|right|true|yes")
SYMBOL = re.compile(rf"[ \t]?[(\[]?(?:(?P<out>{_OUT})|(?P<in>{_IN}))[)\]]?")
# In brackets and as a symbol a sign is of one option, said in words it is of all in its clause.
_SIGN = re.compile(
    rf"""\s?(?:
    [(\[【〔]\s?(?:is\s)?(?:(?P<aside_out>{_OUT}|[xX]|{_OUT_WORD})|(?P<aside_in>{_IN}|{_IN_WORD}))
        的?\s?(?:[,:;。、][^()\[\]【】〔〕]{{0,200}})?[)\]】〕]
    | (?P<out>{_OUT}) | (?P<in>{_IN})
    | (?:选?项)?\s?[:=–—-]?\s?
        (?P<all>[都均全皆]|(?:are|were)(?:[ ](?:both|all))?(?![A-Za-z]))?\s?
        (?:[是为]|(?:is|was)(?![A-Za-z]))?\s?(?:(?P<word_out>{_OUT_WORD})|(?P<word_in>{_IN_WORD}))
        的?(?:选?项)?(?=\s?(?:[,;。.、\n]|[(\[]?[A-Z](?![A-Za-z])|\Z))
    )""",
    re.VERBOSE,
)
_BETWEEN = " \n/&|,、;"
_NOT_BUT = re.compile(
    r"(?:not|不是|并?非|不选)\s?(?P<out>.+?)[,;]?\s?(?:but(?: rather)?|而是|而应?选)\s?(?P<in>.+)"
)
_BUT_NOT = re.compile(
    r"(?P<in>.+?)[,;]?\s?(?:(?:and|but)\s)?"
    r"(?:(?<![A-Za-z])(?:not(?! (?:correct|right|true|an? answer))|rather than)\s"
    r"|而?不是|而非|而?不选)\s?(?P<out>.+)"
)


def read_part(part: str, options: Options) -> Choices | None:
    """Read what follows a cue; None if it is no answer.

    All of it, or its first sentence, may be letters and option texts; else it may begin with
    letters and go on with an explanation.
    """
    ends = islice(_SENTENCE_END.finditer(part), _MOST_CUTS)
    # A stop after letters may be that of a label: what follows it decides.
    cuts = [
        part[: end.start()]
        for end in ends
        if end.group() != "." or not named_letters(part[: end.start()])
    ]
    reason = _REASON.search(part)
    texts = [part, *cuts, *([part[: reason.start()]] if reason else [])]
    readings = (
        reading
        for text in texts
        for reading in (
            read_all(text, options, bare_runs=True),
            _by_letters(text, options) if _JOINED.fullmatch(text.strip()) else None,
            _labelled(text, options),
            read_judged(text, options),
        )
    )
    terms = (_known_and_unknown(text, options) for text in texts)
    for found in (*readings, *terms):
        if found is not None:
            return found
    return _leading_letters(part, options)


def read_all(text: str, options: Options, *, bare_runs: bool = False) -> Choices | None:
    """Read a text that is nothing but letters and option texts; None if anything else is in it.

    Args:
        text: its items are separated by commas, words for "and", or lines.
        options: the question's options.
        bare_runs: take letters without separators as such though some are past the last option.
    """
    whole = _item(text, options, alone=True, bare_runs=bare_runs) if fold(text) else None
    if whole is not None:
        return together([whole])
    pieces = _ITEM_END.split(text)
    if len(pieces) > 2 * _MOST_ITEMS:
        return None
    items: list[Choices] = []
    place = 0
    while place < len(pieces):
        # Options may hold commas and "and" themselves: the longest item that fits is taken.
        for end in range(len(pieces), place, -2) if fold(pieces[place]) else ():
            item = _item("".join(pieces[place:end]), options)
            if item is not None:
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
    pieces = [piece for piece in _NEXT_LABEL.split(text) if piece.strip()]
    if not 2 <= len(pieces) <= _MOST_ITEMS:
        return None
    items = [_item(piece, options) for piece in pieces]
    named = [item for item in items if item and item.step is Step.LABEL and not item.warnings]
    return together(named) if len(named) == len(pieces) else None


def _known_and_unknown(text: str, options: Options) -> Choices | None:
    """Read a list in which some items are options and the others are short terms."""
    pieces = [piece for piece in _LISTED.split(text) if fold(piece)]
    if not 2 <= len(pieces) <= _MOST_ITEMS or _SIGN.search(text):
        return None
    items: list[Choices] = []
    for piece in pieces:
        item = _item(piece, options)
        if item is None:
            if len(fold(piece)) > _LONGEST_UNKNOWN or _NO_TERM.search(piece):
                return None
            item = Choices(unknown=(canonical(piece).strip(EDGES),), step=Step.NONE)
        items.append(item)
    # Beside letters, one that ends in a letter may be a letter in a phrase that is not known.
    is_phrase = all(item.step in (Step.LETTERS, Step.NONE) for item in items) and any(
        item.step is Step.NONE and _LAST_LETTER.search(item.unknown[0]) for item in items
    )
    found = together(items)
    return found if found.options and not is_phrase else None


def read_judged(text: str, options: Options, signs: re.Pattern[str] = _SIGN) -> Choices | None:
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
        last = read_all(rest, options)
        if last is None:
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
        places += [one.span() for one in _ITEM_END.finditer(text)]
    elif not named["all"]:
        places += [one.span() for one in re.finditer(r"[,;\n]", text)]
        if len(places) > 1 and re.search(r"\band\b", text):
            return None, None  # "A, B and C incorrect": of all, or of the last two
    for start, end in reversed(places[-_MOST_ITEMS:]):
        last = read_all(text[end:], options)
        if last is not None:
            first = read_all(text[:start], options)
            return (None, None) if first is None and fold(text[:start]) else (first, last)
    return None, None


def _is_out(sign: re.Match[str] | None) -> bool:
    """Tell whether a sign says that what is beside it is no answer."""
    return sign is not None and (sign.lastgroup or "").endswith("out")


def _leading_letters(part: str, options: Options) -> Choices | None:
    # A sign of rejection in brackets stays as one.
    text = _ASIDE.sub(lambda aside: " ×" if _is_out(_SIGN.match(aside[0])) else " ", part)
    found = _PREFIX.match(text)
    if found is None:
        return None
    run = found[1].rstrip()
    rest = text[found.start(1) + len(run) :]
    word = _LOWER_WORD.match(rest)
    if run[-1] in "AI" and word is not None and word[1] not in _AFTER_LONE:
        # "B, A rash came later": the last letter is an English word.
        before = _by_letters(run[:-1], options)
        return before if before.options or before.unknown else None
    return _by_letters(run, options) if _ends_here(run, rest) else None


def _ends_here(run: str, rest: str) -> bool:
    """Tell whether the letters end where they seem to, and what follows is an explanation."""
    is_one = sum(sign in LETTERS for sign in run) == 1
    sign = _SIGN.match(rest.lstrip(" "))
    arrow = _ARROW.match(rest)
    after_stop = _AFTER_STOP.match(rest)
    goes_on = (
        (run[-1] in LETTERS and _GOES_ON.match(rest))
        or _OR.match(rest)
        or _JOINED_ON.match(rest)
        # Of several letters it may be of the last one, or of all.
        or (sign is not None and (not is_one or _is_out(sign)))
        or (arrow is not None and (arrow["other"] or not arrow["gap"]))
        or (_CHINESE.match(rest) and not _CHINESE_AFTER.match(rest))
        # E. coli
        or (is_one and after_stop and after_stop[1] not in _AFTER_LABEL)
        # With more labels after an unread text, the first letter is a part of the answer only.
        or _MORE_LABELS.match(rest)
    )
    return not goes_on
