"""A model's reply to a multiple-choice question: the options that it chooses, or none.

`read_choices` finds where an answer may stand, and the second half of this file reads what stands
there, as letters or option texts: never a guess. The texts that it reads are plain: half-width
signs, simplified characters, no Markdown, few blanks.
"""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001, RUF002

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, takewhile
from typing import Any

from medeval.json_reader import last_object, list_in
from medeval.tasks import choices
from medeval.tasks.choices import PATTERNS, WORDS, Choices, Options, Step, fold, together
from medeval.text import split_thinking

ANSWER_KEYS = WORDS["answer_keys"]
# One for one: full-width signs and letters as plain ones, and what else stands for another.
_PLAIN_SIGNS = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_PLAIN_SIGNS |= str.maketrans(WORDS["written"], WORDS["meant"])
# A reply that runs wild is not read to its end.
_MOST, _LONGEST = choices.LIMITS["most"], choices.LIMITS["longest"]
_AFTER_LONE = {*WORDS["after_a_letter"]}
_AFTER_LABEL = {*_AFTER_LONE, *WORDS["after_a_label"]}
_SIGN = PATTERNS["sign"]
_BETWEEN = " \n/&|,、;"


def read_choices(reply: str, options: Sequence[str]) -> Choices:
    r"""Read which options a reply to a multiple-choice question chooses, in Chinese or English.

    The first of these that reads counts; nothing is guessed, and no letter is taken from within a
    text. Thinking is taken out before, and a question that the model goes on with is not read.

    1. JSON (in a fence or with common faults): a list, or an object with one of `ANSWER_KEYS`.
    2. What stands between the tags of an answer, then the last `\boxed{}`.
    3. What follows the last cue on its line: 答案, 故选, "answer is", "correct option:" and their
       kin, unless it is negated (不选B), conditional (如果…则选A) or somebody else's choice.
    4. A reply, or its last lines, that is nothing but letters or option texts.
    5. What stands below a line that is a cue alone.

    An answer is letters, options' texts, labels with texts, or a list of these; of options with
    signs beside them (×, 错误, "incorrect") those that are not rejected.

    Args:
        reply: the model's text as it came.
        options: the options' texts in the order in which they were shown, at most 26.

    Returns:
        The chosen options as `options` (places from 0) and `letters`, what was answered and is no
        option as `unknown`, and how it was read as `step`: json, boxed, cue or whole, and
        out_of_range if a letter is past the last option. A reply without an answer has neither,
        `is_read` is false and `step` says why: empty, truncated_reasoning or unparsed.
    """
    split = split_thinking(reply)
    if split.state != "complete":
        return Choices(step=Step(split.state))
    raw = Options(options)
    # Markdown goes from the options as well, or they would not equal their own text any more.
    shown = [plain(option) for option in options]
    bare = raw if shown == [*options] else Options(shown)
    for step, found in _all_readings(reply, split.answer, raw, bare):
        if found is not None:
            # What is unknown and a letter is past the last option.
            is_out = any(re.fullmatch("[A-Z]", text) for text in found.unknown)
            return replace(found, n_duplicates=0, step=Step.OUT_OF_RANGE if is_out else step)
    return Choices(step=Step.UNPARSED)


def _all_readings(
    reply: str, answer: str, raw: Options, bare: Options
) -> Iterator[tuple[Step, Choices | None]]:
    # A model that does not stop makes up the next question: what answers it is no answer to this
    # one. A question before the answer is the one that was asked, repeated.
    for question in islice(PATTERNS["next_question"].finditer(answer), _MOST["questions"]):
        yield from _readings(answer[: question.start()], raw, bare)
    yield from _readings(answer, raw, bare)
    # Where all of a reply stands in the tags of an answer, they are gone by now.
    if any(part.strip() == answer for part in _tagged(reply)):
        yield Step.CUE, _sentence(answer, bare)


def _readings(text: str, raw: Options, bare: Options) -> Iterator[tuple[Step, Choices | None]]:
    """Yield what each step reads, in their order."""
    yield Step.JSON, _from_json(text, raw, bare)
    for part in _tagged(text):
        yield Step.CUE, _from_json(part, raw, bare) or _sentence(part, bare)
    for boxes in reversed(list(PATTERNS["boxes"].finditer(text))):
        boxed = ", ".join(PATTERNS["boxed"].findall(boxes[0]))
        yield Step.BOXED, read_part(plain(boxed).strip(), bare)
    simple = plain(text)
    for part in islice(_after_cues(simple), _MOST["cues"]):
        yield Step.CUE, read_part(part, bare)
    yield Step.WHOLE, _from_whole(simple, bare)
    for cue in reversed(list(PATTERNS["heading"].finditer(simple))[-_MOST["cues"] :]):
        part = simple[cue.end() :].lstrip("\n").split("\n\n", 1)[0][: _LONGEST["part"]]
        found = read_all(part, bare) or read_judged(part, bare)
        if found is not None and len(found.options) < max(2, len(bare.texts)):
            yield Step.CUE, found


def _tagged(text: str) -> Iterator[str]:
    """Yield what stands between the tags of an answer, the last ones first."""
    for tag in reversed(list(PATTERNS["tagged"].finditer(text))[-_MOST["cues"] :]):
        yield tag["angle"] or tag["bar"] or ""


def _from_json(text: str, raw: Options, bare: Options) -> Choices | None:
    def answer(members: Mapping[str, Any]) -> Choices | None:
        given = [members[key] for key in ANSWER_KEYS if key in members]
        return _answer_list(given[0], raw, bare) if given else None

    if found := last_object(text, ANSWER_KEYS, answer):
        return answer(found.members)
    listed = list_in(text)
    return None if listed is None else _answer_list(listed, raw, bare)


def _answer_list(value: Any, raw: Options, bare: Options) -> Choices | None:
    if isinstance(value, str):
        found = read_all(plain(value), bare, bare_runs=True) or _sentence(value, bare)
        if found is not None:
            return found
    try:
        answers = raw.answers(value)
    except ValueError:
        return None
    if isinstance(value, list) and answers.unknown:
        said = "\n".join(plain(str(each)) for each in value)
        if read_signs(said, bare) is not None:
            return read_judged(said, bare)
    return answers


def _sentence(text: str, bare: Options) -> Choices | None:
    """Read a sentence that stands in the place of an answer: "选A和C，不选B"."""
    simple = plain(text).strip()
    parts = (*islice(_after_cues(simple), _MOST["cues"]), simple)
    return next(filter(None, (read_part(part, bare) for part in parts)), None)


def _from_whole(text: str, options: Options) -> Choices | None:
    if found := read_all(text, options):
        return found
    lines = [line for line in text.splitlines() if fold(line)][-choices.MOST_OPTIONS :]

    def last_lines(fits: Callable[[str], object]) -> str:
        return "\n".join([*takewhile(fits, reversed(lines))][::-1])

    symbol = PATTERNS["symbol"]
    said = last_lines(lambda line: read_all(line, options))
    above, *answer = lines[-said.count("\n") - 2 :] if said else [""]
    if answer and not _is_no_answer(above, answer[0]):
        found = read_all(said, options)
        # All the options after some text are the question repeated, not an answer.
        is_question = len(answer) > 1 and found and len(found.options) == len(options.texts)
        return None if is_question else found
    # Without a cue, words beside options may judge what they say; signs choose.
    marked = last_lines(lambda line: read_signs(line, options, symbol) or read_all(line, options))
    return read_judged(marked, options, symbol)


def _is_no_answer(above: str, line: str) -> bool:
    """Tell whether a line is rejected above, or the next of a list with more said in it."""
    one, other = (PATTERNS["list_label"].match(each) for each in (above, line))
    is_next = one and other and ord(other[1]) - ord(one[1]) == 1
    is_letter = choices.named_letters(line) and not PATTERNS["symbol"].search(above)
    return bool((is_next and not is_letter) or PATTERNS["rejecting"].search(above))


def plain(text: str) -> str:
    """Return text in half width and simplified, without Markdown, bullets and needless blanks."""

    def one_line(line: str) -> str | None:
        # Single blanks, of a row of a table its cells; None for a rule.
        words = " ".join(line.split())
        if "--" in words and not words.strip("|-: "):
            return None
        if len(words) > 1 and words[0] == words[-1] == "|":
            return " ".join(words[1:-1].replace("|", ": ", 1).replace("|", " ").split())
        return words

    text = text.translate(_PLAIN_SIGNS)
    text = PATTERNS["struck"].sub(lambda found: f"{found[1] or found[3]}×", text)
    text = PATTERNS["markdown"].sub(lambda found: found[1] or "", text)
    lines = "\n".join(line for line in map(one_line, text.splitlines()) if line is not None)
    return re.sub("\n{3,}", "\n\n", PATTERNS["line_start"].sub("", lines))


def _after_cues(text: str) -> Iterator[str]:
    """Yield what follows each cue on its line, the last cue first."""
    for line in reversed(text.splitlines()):
        cues = (PATTERNS[name].finditer(line) for name in ("zh_cue", "en_cue", "correction"))
        for cue in sorted(chain(*cues), key=lambda match: match.end(), reverse=True):
            before = line[max(0, cue.start() - _LONGEST["negation"]) : cue.start()]
            if not (PATTERNS["negation"].search(before) or _is_of_a_case(line, cue)):
                part = line[cue.end() :]
                yield part if len(part) <= _LONGEST["part"] else part[: _LONGEST["part"]] + "…"


def _is_of_a_case(line: str, cue: re.Match[str]) -> bool:
    """Tell whether a cue says what would be right in some case, or what others choose."""
    before = line[max(0, cue.start() - _LONGEST["sentence"]) : cue.start()]
    is_chosen = re.match("应?选", cue.group())
    if PATTERNS["not_chosen" if is_chosen else "not_own"].search(before):
        return True
    sentence = PATTERNS["clause_end"].split(before)[-1]
    conditions = list(PATTERNS["condition"].finditer(sentence))
    # What is concluded from a case that does not hold is the answer again.
    since = cue.start() - len(sentence) + conditions[-1].end() if conditions else 0
    return bool(conditions) and not PATTERNS["conclusion"].search(line, since, cue.end())


def read_part(part: str, options: Options) -> Choices | None:
    """Read what follows a cue; None if it is no answer.

    All of it, or its first sentence, may be letters and option texts; else it may begin with
    letters and go on with an explanation.
    """
    ends = islice(PATTERNS["sentence_end"].finditer(part), _MOST["cuts"])
    # A stop after letters may be that of a label: what follows it decides.
    cuts = [
        part[: end.start()]
        for end in ends
        if end.group() != "." or not choices.named_letters(part[: end.start()])
    ]
    texts = [part, *cuts, *PATTERNS["reason"].split(part, maxsplit=1)[:-1]]

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
    if len(pieces) > 2 * _MOST["items"]:
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
        bare = choices.canonical(text, "NFKC").strip(choices.EDGES + "()[]{}【】 ")
        is_word = len(bare) == 1 and bare.islower() and not alone
        if is_word or (found.unknown and not bare_runs and re.fullmatch("[A-Z]{2,}", bare)):
            return None
    return None if found.step is Step.NONE else found


def _by_letters(text: str, options: Options) -> Choices:
    return together([options.by_letters(sign for sign in text if sign in choices.LETTERS)])


def _labelled(text: str, options: Options) -> Choices | None:
    """Read options between which blanks stand or nothing, each with its label and its own text."""
    pieces = [piece for piece in PATTERNS["next_label"].split(text) if piece.strip()]
    if not 2 <= len(pieces) <= _MOST["items"]:
        return None
    items = [_item(piece, options) for piece in pieces]
    named = [item for item in items if item and item.step is Step.LABEL and not item.warnings]
    return together(named) if len(named) == len(pieces) else None


def _known_and_unknown(text: str, options: Options) -> Choices | None:
    """Read a list in which some items are options and the others are short terms."""
    pieces = [piece for piece in PATTERNS["listed"].split(text) if fold(piece)]
    if not 2 <= len(pieces) <= _MOST["items"] or _SIGN.search(text):
        return None
    items: list[Choices] = []
    for piece in pieces:
        if not (item := _item(piece, options)):
            if len(fold(piece)) > _LONGEST["unknown"] or PATTERNS["no_term"].search(piece):
                return None
            item = Choices(unknown=(choices.canonical(piece).strip(choices.EDGES),), step=Step.NONE)
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
    if all(marked[:2]) and not marked[2]:  # some have a sign, and the others none
        is_whole = len(kept.options) == len(options.texts)
        kept = together(marked[1]) if is_whole else kept if signs is _SIGN else rejected
    is_clear = not all(marked) and not set(kept.options) & set(rejected.options)
    return kept if is_clear and (kept.options or kept.unknown) else None


def read_signs(
    text: str, options: Options, signs: re.Pattern[str] = _SIGN
) -> tuple[list[Choices], list[Choices], list[Choices]] | None:
    """Return what stands in a text without a sign, accepted and rejected; None if more is in it."""
    found = list(islice(signs.finditer(text), _MOST["items"] + 1))
    if not found or len(found) > _MOST["items"]:
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
    is_word, is_of_all = named.get("word_out") or named.get("word_in"), named.get("all")
    ends = PATTERNS["clause" if is_of_all else "comma" if is_word else "item_end"]
    places = [(0, 0), *(one.span() for one in ends.finditer(text))]
    if is_word and not is_of_all and len(places) > 1 and re.search(r"\band\b", text):
        return None, None  # "A, B and C incorrect": of all, or of the last two
    for start, end in reversed(places[-_MOST["items"] :]):
        if last := read_all(text[end:], options):
            if is_of_all and end and len(last.options) < 2:
                continue  # "A; B are": of both
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
    if (found := PATTERNS["first_letters"].match(text)) is None:
        return None
    run = found[1].rstrip()
    rest = text[found.start(1) + len(run) :]
    word = PATTERNS["lower_word"].match(rest)
    if run[-1] in "AI" and word is not None and word[1] not in _AFTER_LONE:
        # "B, A rash came later": the last letter is an English word.
        before = _by_letters(run[:-1], options)
        return before if before.options or before.unknown else None
    is_one = sum(sign in choices.LETTERS for sign in run) == 1
    sign, after_stop = _SIGN.match(rest.lstrip(" ")), PATTERNS["after_stop"].match(rest)
    goes_on = (
        PATTERNS["goes_on"].match(rest)
        or (run[-1] in choices.LETTERS and PATTERNS["term"].match(rest))
        # Of several letters it may be of the last one, or of all.
        or (sign is not None and (not is_one or _is_out(sign)))
        or (not is_one and PATTERNS["own_clause"].match(rest))
        # E. coli
        or (is_one and after_stop and after_stop[1] not in _AFTER_LABEL)
    )
    return None if goes_on else _by_letters(run, options)
