"""Commands run in the process of the tests, through the program's own entry."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from medeval import cli


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Main = Callable[..., Done]


def main_in(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    """Return what runs a command of this program, given as words."""

    def run(*words: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["medeval", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        return Done(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run
