"""A model's reply to a multiple-choice question: the options that it chooses, or none."""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001, RUF002

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any

from medeval.errors import UserError
from medeval.json_reader import last_object, list_in
from medeval.tasks.choice_answers import (
    SYMBOL,
    english,
    read_all,
    read_judged,
    read_part,
    read_signs,
)
from medeval.tasks.choices import MOST_OPTIONS, Choices, Options, Step, fold
from medeval.text import ANSWER_NAMES, split_thinking

ANSWER_KEYS = (
    *("predict_answers", "answer_choices", "answers", "answer"),
    *("答案", "正确答案", "正確答案"),
)
# Longer ones first: the shorter ones are parts of them.
ZH_CUES = (
    "最终答案|正确答案|参考答案|标准答案|正确的选项|正确选项|因此选|所以选|应选|故选|选择|答案|选"
)
# 选 and 选择 are one word, and neither is a cue where it goes on: 选项, 选择题, 选择了.
_ZH = re.compile(
    rf"(?P<zh>{ZH_CUES})(?:(?<=选)择)?(?![择项题了])\s*(?:的(?:选项)?(?= ?(?:是|为|:)))?"
    r"\s*(?:应该|应当|应|就|即|则)?\s*[是为]?\s*:?\s*"
)
_EN = re.compile(
    r"(?<![A-Za-z])(?:(?:(?:final|correct)\s+)?answers?|correct\s+options?)(?:\(s\))?"
    r"\s*(?:(?:is|are)(?![A-Za-z])|:|=)\s*:?\s*",
    re.IGNORECASE,
)
# A heading, under which the answer stands.
_HEADING_CUE = re.compile(
    r"^[【\[(]?(?:(?:最终|正确|参考|标准)?答案|正确(?:的)?选项"
    r"|(?:(?:final|correct) )?answers?(?:\(s\))?|correct options?)[】\])]?(?: is| are|[是为])?:?$",
    re.IGNORECASE | re.MULTILINE,
)
_NEGATION = re.compile(
    r"(?:(?:[不非未勿莫]|(?<![特分个区类])别)[应该能可宜要会再是]?|错(?:误的?)?"
    r"|(?:\bnot|n't|\bwrong|\bincorrect)(?:\s+(?:the|a))?\s*)$",
    re.IGNORECASE,
)
# A choice that is made in a case, or by others, is not the answer: 则选A, 有人会选A, 误选A.
_NOT_CHOSEN = re.compile(
    "(?:(?<!原)(?<!规)(?<!准)则(?:应该|应当|应|就|可|宜|需)?|(?<!我)(?<!我们)会|可能|易|误|如果|若"
    "|(?:(?:有|多|些|少|数|部分|的)人|(?:考生|学生|同学)们?)(?:都|也|就)?)$"
)
_CONDITION = re.compile(
    r"(?:如果|若(?!干)|假如|假设(?!检)|倘|(?<![\u4e00-\u9fff])要是|除非)"
    # "If I had to choose", "if one takes A" and "if we look at it" speak of the answer, not a case.
    r"(?!(?:我|你|您|必须|只能|一定|非|要)*[们选])"
    r"|(?<![A-Za-z])(?:[Ii]f(?!\s+(?:I|we|you|one)\b)|[Uu]nless)(?![A-Za-z])"
    r"|的话|(?:否则|反之),? ?(?:应该|应|就|则|(?:最终|正确)的?)?$"
    r"|(?<![A-Za-z])[Oo]therwise,? (?:the )?$"
)
_CONCLUSION = re.compile(
    "故|因此|所以|因而|综上|可见|但|然而|本题|本例|"
    + english("so|therefore|thus|hence|but|however"),
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"[。!?;]|\.(?=\s)")
_MARKDOWN = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}|\*+|`+|\$+|\\[()\[\]]")
# What is struck out is rejected.
_STRUCK = re.compile(r"~~([^~\n]{1,200})~~|<(del|s)>([^<\n]{1,200})</\2>")
_LINE_START = re.compile(r"^(?:#{1,6} (?=\S))?(?:[-•·●▪] (?=\S))?", re.MULTILINE)
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
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_NEXT_QUESTION = re.compile(
    r"^[ \t*#]{0,9}(?:【(?:[题題]目|[问問][题題]|下一[题題])】"
    r"|(?:下一[题題]|[题題]目|[问問][题題]|question|Q)[ \t]?\d{0,3}[ \t]?[:：]"
    r"|(?:下一[题題]|[题題]目|[问問][题題]|question)[ \t]?\d{1,3}[ \t]*$"
    r"|第\s?\d{1,3}\s?[题題]\s?[:：]"
    # A number, the form of a question, and then its options or an answer.
    r"|[(（]?\d{1,3}\s?[.．、)）:：][^\n]{1,600}?(?:[?？]|[(（]\s{0,9}[)）]|__)[_ \t。.:：*]{0,9}"
    r"(?=\s{1,9}(?:[(（]?A\s?[.．、)）:：]|\W{0,4}(?:答案|answer))))",
    re.IGNORECASE | re.MULTILINE,
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
    # A model that does not stop makes up the next question: what answers it is no answer to this
    # one. A question before the answer is the one that was asked, repeated.
    questions = islice(_NEXT_QUESTION.finditer(split.answer), _MOST_QUESTIONS)
    said = [*(split.answer[: one.start()] for one in questions), split.answer]
    readings = (reading for text in said for reading in _readings(text, raw, bare))
    for step, found in readings:
        if found is not None:
            return _as_read(step, found)
    # Where all of a reply stands in the tags of an answer, they are gone by now.
    if any(part.strip() == split.answer for part in _tagged(reply)):
        sentence = _sentence(split.answer, bare)
        return _as_read(Step.CUE, sentence) if sentence else Choices(step=Step.UNPARSED)
    return Choices(step=Step.UNPARSED)


def _readings(text: str, raw: Options, bare: Options) -> Iterator[tuple[Step, Choices | None]]:
    """Yield what each step reads, in their order."""
    yield Step.JSON, _from_json(text, raw, bare)
    for part in _tagged(text):
        yield Step.CUE, _from_json(part, raw, bare) or _sentence(part, bare)
    for part in reversed(_BOXED.findall(text)):
        yield Step.BOXED, read_part(plain(part).strip(), bare)
    simple = plain(text)
    for part in _after_cues(simple):
        yield Step.CUE, read_part(part, bare)
    yield Step.WHOLE, _from_whole(simple, bare)
    for cue in reversed(list(_HEADING_CUE.finditer(simple))[-_MOST_CUES:]):
        part = simple[cue.end() :].lstrip("\n").split("\n\n", 1)[0][:_LONGEST_PART]
        found = read_all(part, bare) or read_judged(part, bare)
        if found is not None and len(found.options) < max(2, len(bare.texts)):
            yield Step.CUE, found


def _as_read(step: Step, found: Choices) -> Choices:
    # What is unknown and a letter is past the last option.
    is_out = any(re.fullmatch("[A-Z]", text) for text in found.unknown)
    return replace(found, n_duplicates=0, step=Step.OUT_OF_RANGE if is_out else step)


def _tagged(text: str) -> Iterator[str]:
    """Yield what stands between the tags of an answer, the last ones first."""
    for found in reversed(list(_TAGGED.finditer(text))[-_MOST_CUES:]):
        yield found["angle"] or found["bar"] or ""


def _from_json(text: str, raw: Options, bare: Options) -> Choices | None:
    def answer(members: Mapping[str, Any]) -> Choices | None:
        given = [members[key] for key in ANSWER_KEYS if key in members]
        return _answer_list(given[0], raw, bare) if given else None

    found = last_object(text, ANSWER_KEYS, answer)
    if found is not None:
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
    parts = (read_part(part, bare) for part in (*_after_cues(simple), simple))
    return next((found for found in parts if found is not None), None)


def _from_whole(text: str, options: Options) -> Choices | None:
    found = read_all(text, options)
    if found is not None:
        return found
    lines = [line for line in text.splitlines() if fold(line)][-MOST_OPTIONS:]
    said = _last_lines(lines, lambda line: read_all(line, options) is not None)
    found = read_all("\n".join(said), options) if said else None
    if found is not None:
        # All the options after some text are the question repeated, not an answer.
        return None if len(said) > 1 and len(found.options) == len(options.texts) else found
    # Without a cue, words beside options may judge what they say; signs choose.
    said = _last_lines(lines, lambda line: read_signs(line, options, SYMBOL) is not None)
    return read_judged("\n".join(said), options, SYMBOL) if said else None


def _last_lines(lines: Sequence[str], fits: Callable[[str], bool]) -> list[str]:
    return list(takewhile(fits, reversed(lines)))[::-1]


def plain(text: str) -> str:
    """Return text in half width and simplified, without Markdown, bullets and needless blanks."""
    bare = _STRUCK.sub(lambda found: f"{found[1] or found[3]}×", text.translate(_PLAIN_SIGNS))
    bare = _MARKDOWN.sub(lambda found: found[1] or "", bare)
    lines = "\n".join(line for line in map(_line, bare.splitlines()) if line is not None)
    return re.sub("\n{3,}", "\n\n", _LINE_START.sub("", lines))


def _line(line: str) -> str | None:
    """Return a line with single blanks, of a row of a table its cells; None for a rule."""
    words = " ".join(line.split())
    if "--" in words and not words.strip("|-: "):
        return None
    if len(words) > 1 and words[0] == words[-1] == "|":
        return " ".join(words[1:-1].replace("|", ": ", 1).replace("|", " ").split())
    return words


def _after_cues(text: str) -> Iterator[str]:
    """Yield what follows each cue on its line, the last cue first."""
    return islice(_parts(text.splitlines()), _MOST_CUES)


def _parts(lines: Sequence[str]) -> Iterator[str]:
    for line in reversed(lines):
        found = [*_ZH.finditer(line), *_EN.finditer(line)]
        for cue in sorted(found, key=lambda match: match.end(), reverse=True):
            before = line[max(0, cue.start() - _LONGEST_NEGATION) : cue.start()]
            if not (_NEGATION.search(before) or _is_of_a_case(line, cue)):
                part = line[cue.end() :]
                yield part if len(part) <= _LONGEST_PART else part[:_LONGEST_PART] + "…"


def _is_of_a_case(line: str, cue: re.Match[str]) -> bool:
    """Tell whether a cue says what would be right in some case, or what others choose."""
    start = max(0, cue.start() - _LONGEST_SENTENCE)
    before = line[start : cue.start()]
    if re.match("应?选", cue.group()) and _NOT_CHOSEN.search(before):
        return True
    sentence = _SENTENCE_ENDS.split(before)[-1]
    conditions = list(_CONDITION.finditer(sentence))
    # What is concluded from a case that does not hold is the answer again.
    return bool(conditions) and not _CONCLUSION.search(
        line, start + len(before) - len(sentence) + conditions[-1].end(), cue.end()
    )
