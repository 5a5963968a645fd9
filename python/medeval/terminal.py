"""The terminal, as tables are printed on it."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from medeval.text import visible


class Terminal(Console):
    """A console to which cells and titles are texts, whatever is in them, and never markup."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as it is."""
        return super().render_str(visible(text), **options)
