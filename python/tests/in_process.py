"""Commands run in the process of the tests, through the program's own entry."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from medeval import cli

_made = cache(typer.main.get_command)


def _commands(app: typer.Typer) -> Any:
    """Return what Typer makes of a program, which takes longer than most commands, made once.

    Commands are copies: one that reads a command line may take up flags.
    """
    made: Any = _made(app)
    if app is cli.app:
        made = copy(made)
        made.commands = {name: copy(command) for name, command in made.commands.items()}
        for command in made.commands.values():
            command.params = [*command.params]
    return made


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Main = Callable[..., Done]


def main_in(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    """Return what runs a command of this program, given as words, and the code it must end with."""
    monkeypatch.setattr(typer.main, "get_command", _commands)

    def run(*words: str | Path, code: int | None = None) -> Done:
        monkeypatch.setattr(sys, "argv", ["medeval", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        found = ended.value.code
        done = Done(found if isinstance(found, int) else 0, *capsys.readouterr())
        assert code in (None, done.code), done.out + done.err
        return done

    return run
