"""What others wrote, shown as text: no character of it steers the terminal or the page."""

from __future__ import annotations

import re
from typing import Any, TextIO, cast

# Control characters but for tab and line feed, with ESC, which begins the codes of terminals; ends
# of lines and paragraphs; and what embeds, overrides and isolates directions of writing.
_ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Return a text with each character that acts written out, ESC as ``\x1b``."""
    return _ACTS.sub(lambda found: ascii(found[0])[1:-1], text)


def visible_stream(stream: TextIO) -> TextIO:
    """Return a stream that writes visible text; rich, whose codes are its own, writes by it."""
    return cast("TextIO", _Visible(stream))


class _Visible:
    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        return self.rich_proxied_file.write(visible(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)
