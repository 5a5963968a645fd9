"""Words after which an answer stands, in Chinese and English, and what follows them on the line."""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from medeval.tasks.yier.matching import either_script
from medeval.text import ANSWER_NAMES

# Longer ones first: the shorter ones are parts of them. Each also in traditional characters.
ZH_CUES = (
    "最终答案|正确答案|参考答案|标准答案|正确的选项|正确选项|因此选|所以选|应选|故选|选择|答案|选"
)
# 选 and 选择 are one word, and neither is a cue where it goes on: 选项, 选择题, 选择了.
_ZH = re.compile(
    rf"(?P<zh>{either_script(ZH_CUES)})(?:(?<=[选選])[择擇])?(?![择擇项項题題了])"
    rf"\s*(?:{either_script('的(?:选项)?(?= ?(?:是|为|:))')})?"
    rf"\s*(?:{either_script('应该|应当|应|就|即|则')})?\s*(?:是|[为為])?\s*:?\s*"
)
_EN = re.compile(
    r"(?<![A-Za-z])(?:(?:(?:final|correct)\s+)?answers?|correct\s+options?)(?:\(s\))?"
    r"\s*(?:(?:is|are)(?![A-Za-z])|:|=)\s*:?\s*",
    re.IGNORECASE,
)
# A heading, under which the answer stands.
_ALONE = re.compile(
    rf"^[【\[(]?(?:{either_script('(?:最终|正确|参考|标准)?答案|正确(?:的)?选项')}"
    r"|(?:(?:final|correct) )?answers?(?:\(s\))?|correct options?)[】\])]?"
    r"(?: is| are|是|为|為)?:?$",
    re.IGNORECASE | re.MULTILINE,
)
_NEGATION = re.compile(
    r"(?:(?:[不非未勿莫]|(?<![特分个個区區类類])[别別])[应應该該能可宜要会會再是]?"
    r"|[错錯](?:[误誤]的?)?|(?:\bnot|n't|\bwrong|\bincorrect)(?:\s+(?:the|a))?\s*)$",
    re.IGNORECASE,
)
# A choice that is made in a case, or by others, is not the answer: 则选A, 有人会选A, 误选A.
_CHOICE = re.compile(either_script("应?选"))
_NOT_CHOSEN = re.compile(
    either_script(
        "(?:(?<!原)(?<!规)(?<!准)则(?:应该|应当|应|就|可|宜|需)?|(?<!我)(?<!我们)会|可能|易|误|如果|若"
        "|(?:(?:有|多|些|少|数|部分|的)人|(?:考生|学生|同学)们?)(?:都|也|就)?)$"
    )
)
_CONDITION = re.compile(
    either_script(r"(?:如果|若(?!干)|假如|假设(?!检)|倘|(?<![\u4e00-\u9fff])要是|除非)")
    # "If I had to choose", "if one takes A" and "if we look at it" speak of the answer, not a case.
    + either_script("(?!(?:我|你|您|必须|只能|一定|非|要)*(?:们|选))")
    + r"|(?<![A-Za-z])(?:[Ii]f(?!\s+(?:I|we|you|one)\b)|[Uu]nless)(?![A-Za-z])"
    + either_script("|的话|(?:否则|反之),? ?(?:应该|应|就|则|(?:最终|正确)的?)?$")
    + r"|(?<![A-Za-z])[Oo]therwise,? (?:the )?$"
)
_CONCLUSION = re.compile(
    either_script("故|因此|所以|因而|综上|可见|但|然而|本题|本例")
    + r"|(?<![A-Za-z])(?:so|therefore|thus|hence|but|however)(?![A-Za-z])",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"[。!?;]|\.(?=\s)")
_MARKDOWN = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}|\*+|`+|\$+|\\[()\[\]]")
# What is struck out is rejected.
_STRUCK = re.compile(r"~~([^~\n]{1,200})~~|<(del|s)>([^<\n]{1,200})</\2>")
_HEADING = re.compile(r"^#{1,6} (?=\S)", re.MULTILINE)
_BULLET = re.compile(r"^[-•·●▪] (?=\S)", re.MULTILINE)
# Full-width signs and letters to plain ones, one for one, and curly quotes, which models write
# straight; other characters stay as they are.
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    0x3000: 0x20,
    0x201C: 0x22,
    0x201D: 0x22,
    0x2018: 0x27,
    0x2019: 0x27,
}
# Tags between which models are trained to put their answer.
_TAGGED = re.compile(
    rf"<(?P<name>{ANSWER_NAMES})>(?P<angle>.*?)(?:</(?P=name)>|\Z)"
    rf"|<\|begin_of_(?P<mark>{ANSWER_NAMES})\|>(?P<bar>.*?)(?:<\|end_of_(?P=mark)\|>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_NEXT_QUESTION = re.compile(
    rf"^[ \t*#]{{0,9}}(?:【{either_script('(?:题目|问题|下一题)')}】"
    rf"|(?:{either_script('下一题|题目|问题')}|question|Q)[ \t]?\d{{0,3}}[ \t]?[:：]"
    rf"|(?:{either_script('下一题|题目|问题')}|question)[ \t]?\d{{1,3}}[ \t]*$"
    rf"|第\s?\d{{1,3}}\s?[题題]\s?[:：]"
    # A number, the form of a question, and then its options or an answer.
    r"|[(（]?\d{1,3}\s?[.．、)）:：][^\n]{1,600}?(?:[?？]|[(（]\s{0,9}[)）]|__)[_ \t。.:：*]{0,9}"
    rf"(?=\s{{1,9}}(?:[(（]?A\s?[.．、)）:：]|\W{{0,4}}(?:{either_script('答案')}|answer))))",
    re.IGNORECASE | re.MULTILINE,
)
# A reply that runs wild is not read to its end: the last cues, and so much after each.
_MOST_CUES = 50
_MOST_QUESTIONS = 5
_LONGEST_PART = 4000
_LONGEST_NEGATION = 16
_LONGEST_SENTENCE = 200


def plain(text: str) -> str:
    """Return text in half width, without Markdown, bullets, dollar signs and needless blanks."""
    bare = _STRUCK.sub(lambda found: f"{found[1] or found[3]}\u00d7", text.translate(_HALF_WIDTH))
    bare = _MARKDOWN.sub(lambda found: found[1] or "", bare)
    lines = "\n".join(line for line in map(_line, bare.splitlines()) if line is not None)
    return _BULLET.sub("", _HEADING.sub("", lines))


def _line(line: str) -> str | None:
    """Return a line with single blanks, of a row of a table its cells; None for a rule."""
    words = " ".join(line.split())
    if "--" in words and not words.strip("|-: "):
        return None
    if len(words) > 1 and words[0] == words[-1] == "|":
        return " ".join(words[1:-1].replace("|", ": ", 1).replace("|", " ").split())
    return words


def tagged_parts(text: str) -> Iterator[str]:
    """Yield what stands between the tags of an answer, the last ones first."""
    for found in reversed(list(_TAGGED.finditer(text))[-_MOST_CUES:]):
        yield found["angle"] or found["bar"] or ""


def up_to_next_questions(text: str) -> Iterator[str]:
    """Yield a reply up to each question that begins in it, and then as a whole.

    A model that does not stop makes up the next question: what answers it is no answer to this
    one. A question before the answer is the one that was asked, repeated.
    """
    for question in islice(_NEXT_QUESTION.finditer(text), _MOST_QUESTIONS):
        yield text[: question.start()]
    yield text


def parts_after_cues(text: str) -> Iterator[str]:
    """Yield what follows each cue on its line, the last cue first.

    Args:
        text: already plain.
    """
    yield from islice(_parts(text), _MOST_CUES)


def parts_below_cues(text: str) -> Iterator[str]:
    """Yield the lines up to the next blank one below a line that is a cue alone, the last first.

    Args:
        text: already plain.
    """
    for cue in reversed(list(_ALONE.finditer(text))[-_MOST_CUES:]):
        yield text[cue.end() :].lstrip("\n").split("\n\n", 1)[0][:_LONGEST_PART]


def _parts(text: str) -> Iterator[str]:
    for line in reversed(text.splitlines()):
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
    if _CHOICE.match(cue.group()) and _NOT_CHOSEN.search(before):
        return True
    sentence = _SENTENCE_ENDS.split(before)[-1]
    conditions = list(_CONDITION.finditer(sentence))
    # What is concluded from a case that does not hold is the answer again.
    return bool(conditions) and not _CONCLUSION.search(
        line, start + len(before) - len(sentence) + conditions[-1].end(), cue.end()
    )
