"""Words after which an answer stands, in Chinese and English, and what follows them on the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from medeval.yier.scripts import either_script

# Longer ones first: the shorter ones are parts of them. Each also in traditional characters.
ZH_CUES = (
    "最终答案",
    "正确答案",
    "参考答案",
    "标准答案",
    "正确的选项",
    "正确选项",
    "因此选",
    "所以选",
    "应选",
    "故选",
    "选择",
    "答案",
    "选",
)
_ZH = re.compile(
    rf"(?P<zh>{either_script('|'.join(ZH_CUES))})(?![项項])"
    rf"\s*(?:{either_script('应该|应当|应|就|即|则')})?\s*(?:是|[为為])?\s*:?\s*"
)
_EN = re.compile(
    r"(?<![A-Za-z])(?:(?:(?:final|correct)\s+)?answers?|correct\s+options?)(?:\(s\))?"
    r"\s*(?:(?:is|are)(?![A-Za-z])|:|=)\s*:?\s*",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"(?:(?:[不非未勿莫]|(?<![特分个個区區类類])[别別])[应應该該能可宜要会會再是]?"
    r"|[错錯](?:[误誤]的?)?|(?:\bnot|n't|\bwrong|\bincorrect)(?:\s+(?:the|a))?\s*)$",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}|\*+|`+|\$+|\\[()\[\]]")
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
# A reply that runs wild is not read to its end: the last cues, and so much after each.
_MOST_CUES = 50
_LONGEST_PART = 4000
_LONGEST_NEGATION = 16


def plain(text: str) -> str:
    """Return text in half width, without Markdown, bullets, dollar signs and needless blanks."""
    bare = _MARKDOWN.sub(lambda found: found[1] or "", text.translate(_HALF_WIDTH))
    return _BULLET.sub("", "\n".join(" ".join(line.split()) for line in bare.splitlines()))


def parts_after_cues(text: str) -> Iterator[str]:
    """Yield what follows each cue on its line, the last cue first.

    Args:
        text: already plain.
    """
    yield from islice(_parts(text), _MOST_CUES)


def _parts(text: str) -> Iterator[str]:
    for line in reversed(text.splitlines()):
        found = [*_ZH.finditer(line), *_EN.finditer(line)]
        for cue in sorted(found, key=lambda match: match.end(), reverse=True):
            before = line[max(0, cue.start() - _LONGEST_NEGATION) : cue.start()]
            if not _NEGATION.search(before):
                part = line[cue.end() :]
                yield part if len(part) <= _LONGEST_PART else part[:_LONGEST_PART] + "…"
