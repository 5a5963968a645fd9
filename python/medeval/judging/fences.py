"""The marks around the material of one request, which nothing inside can close.

The code of a request is derived from a recorded seed and from the request itself, the answer's text
included: the same request has the same code after a restart, and no answer can hold its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medeval.inference.types import Message, canonical

BLOCKS = ("question", "reference", "answer")
_CODE = r"[0-9a-f]{16}"
_MARKER = re.compile(rf"^VERDICT-{_CODE}$", re.MULTILINE)
_BLOCK = re.compile(
    rf"^<(?P<name>{'|'.join(BLOCKS)})-(?P<code>{_CODE})>\n(?P<text>.*?)\n</(?P=name)-(?P=code)>$",
    re.MULTILINE | re.DOTALL,
)
# Whatever looks like one of the marks, with or without a code, in the brackets that models read.
_LOOK_ALIKE = re.compile(
    rf"(?:<|&lt;|\uFF1C|\u2039|\u3008)(?=\s{{0,9}}[/\uFF0F\\]?\s{{0,9}}(?:{'|'.join(BLOCKS)})(?![a-z]))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Fence:
    """The marks of one request.

    Attributes:
        code: what no text inside can know.
    """

    code: str

    @property
    def marker(self) -> str:
        """The line after which the verdict must come."""
        return f"VERDICT-{self.code}"

    def around(self, name: str, text: str) -> str:
        """Return a text between its marks, without anything in it that looks like a mark."""
        return f"<{name}-{self.code}>\n{neutralised(text)[0]}\n</{name}-{self.code}>"


def fence_of(seed: int, name: str, sample: int, texts: Sequence[str]) -> Fence:
    """Return the fence of a request.

    Args:
        seed: recorded with the run.
        name: of the item.
        sample: of the item.
        texts: that are put between marks.
    """
    number = 0
    while True:
        parts = canonical([seed, name, sample, number, list(texts)])
        code = hashlib.sha256(parts.encode()).hexdigest()[:16]
        if not any(code in text for text in texts):
            return Fence(code)
        number += 1


def neutralised(text: str) -> tuple[str, int]:
    """Return a text whose look-alikes of marks are marks no more, and how many there were."""
    return _LOOK_ALIKE.subn("(", text)


def marker_in(messages: Sequence[Message]) -> str:
    """Return the marker that a prompt asks for; empty if it asks for none."""
    found = _MARKER.findall(str(messages[-1]["content"])) if messages else []
    return str(found[-1]) if found else ""


def blocks_in(messages: Sequence[Message]) -> Mapping[str, str]:
    """Return the texts between the marks of a prompt, by name."""
    content = str(messages[-1]["content"])
    return {match["name"]: match["text"] for match in _BLOCK.finditer(content)}
