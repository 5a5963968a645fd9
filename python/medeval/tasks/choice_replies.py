"""A model's reply to a multiple-choice question: the options that it chooses, or none.

`read_choices` finds where an answer may stand. What stands there is read by `choice_answers`.
"""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001, RUF002

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, takewhile
from typing import Any

from medeval.errors import UserError
from medeval.json_reader import last_object, list_in
from medeval.tasks.choice_answers import read_all, read_judged, read_part, read_signs
from medeval.tasks.choices import MOST_OPTIONS, PATTERNS, Choices, Options, Step, fold
from medeval.text import ANSWER_NAMES, split_thinking

ANSWER_KEYS = (
    *("predict_answers", "answer_choices", "answers", "answer"),
    *("答案", "正确答案", "正確答案"),
)
# One for one: full-width signs and letters as plain ones, curly quotes, which models write
# straight, and the traditional characters of cues as simplified ones.
_PLAIN_SIGNS = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | str.maketrans(
    "\u3000“”‘’兩個為於參別則對應當擇標準確終該這選項會們誤學設話綜題見數須規錯與還並區類並",
    " \"\"''两个为于参别则对应当择标准确终该这选项会们误学设话综题见数须规错与还并区类并",
)
# Tags between which models are trained to put their answer.
_TAGGED = re.compile(
    rf"<(?P<name>{ANSWER_NAMES})>(?P<angle>.*?)(?:</(?P=name)>|\Z)"
    rf"|<\|begin_of_(?P<mark>{ANSWER_NAMES})\|>(?P<bar>.*?)(?:<\|end_of_(?P=mark)\|>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
# A reply that runs wild is not read to its end: the last cues, and so much after each.
_MOST_CUES = 50
_MOST_QUESTIONS = 5
_LONGEST_PART = 4000
_LONGEST_NEGATION = 16
_LONGEST_SENTENCE = 200


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
    bare = Options([plain(option) for option in options])
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
    for question in islice(PATTERNS["next_question"].finditer(answer), _MOST_QUESTIONS):
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
    for boxed in reversed(PATTERNS["boxed"].findall(text)):
        yield Step.BOXED, read_part(plain(boxed).strip(), bare)
    simple = plain(text)
    for part in islice(_after_cues(simple), _MOST_CUES):
        yield Step.CUE, read_part(part, bare)
    yield Step.WHOLE, _from_whole(simple, bare)
    for cue in reversed(list(PATTERNS["heading"].finditer(simple))[-_MOST_CUES:]):
        part = simple[cue.end() :].lstrip("\n").split("\n\n", 1)[0][:_LONGEST_PART]
        found = read_all(part, bare) or read_judged(part, bare)
        if found is not None and len(found.options) < max(2, len(bare.texts)):
            yield Step.CUE, found


def _tagged(text: str) -> Iterator[str]:
    """Yield what stands between the tags of an answer, the last ones first."""
    for tag in reversed(list(_TAGGED.finditer(text))[-_MOST_CUES:]):
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
    except UserError:
        return None
    if isinstance(value, list) and answers.unknown:
        said = "\n".join(plain(str(each)) for each in value)
        if read_signs(said, bare) is not None:
            return read_judged(said, bare)
    return answers


def _sentence(text: str, bare: Options) -> Choices | None:
    """Read a sentence that stands in the place of an answer: "选A和C，不选B"."""
    simple = plain(text).strip()
    parts = (*islice(_after_cues(simple), _MOST_CUES), simple)
    return next(filter(None, (read_part(part, bare) for part in parts)), None)


def _from_whole(text: str, options: Options) -> Choices | None:
    if found := read_all(text, options):
        return found
    lines = [line for line in text.splitlines() if fold(line)][-MOST_OPTIONS:]

    def last_lines(fits: Callable[[str], object]) -> str:
        return "\n".join([*takewhile(fits, reversed(lines))][::-1])

    said = last_lines(lambda line: read_all(line, options))
    if said and (found := read_all(said, options)):
        # All the options after some text are the question repeated, not an answer.
        is_question = "\n" in said and len(found.options) == len(options.texts)
        return None if is_question else found
    # Without a cue, words beside options may judge what they say; signs choose.
    symbol = PATTERNS["symbol"]
    return read_judged(last_lines(lambda line: read_signs(line, options, symbol)), options, symbol)


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
        cues = (PATTERNS[name].finditer(line) for name in ("zh_cue", "en_cue"))
        for cue in sorted(chain(*cues), key=lambda match: match.end(), reverse=True):
            before = line[max(0, cue.start() - _LONGEST_NEGATION) : cue.start()]
            if not (PATTERNS["negation"].search(before) or _is_of_a_case(line, cue)):
                part = line[cue.end() :]
                yield part if len(part) <= _LONGEST_PART else part[:_LONGEST_PART] + "…"


def _is_of_a_case(line: str, cue: re.Match[str]) -> bool:
    """Tell whether a cue says what would be right in some case, or what others choose."""
    before = line[max(0, cue.start() - _LONGEST_SENTENCE) : cue.start()]
    if re.match("应?选", cue.group()) and PATTERNS["not_chosen"].search(before):
        return True
    sentence = PATTERNS["clause_end"].split(before)[-1]
    conditions = list(PATTERNS["condition"].finditer(sentence))
    # What is concluded from a case that does not hold is the answer again.
    since = cue.start() - len(sentence) + conditions[-1].end() if conditions else 0
    return bool(conditions) and not PATTERNS["conclusion"].search(line, since, cue.end())
