"""Help is short: no sentence of it is above 20 words, and every flag has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from medeval.cli import app
from medeval.commands.options import task_flags
from medeval.tasks import registry

# Words that people write and read as one: a path, a command, several names with commas.
_ONE = re.compile(r"`[^`]*`|\([^)]*\)")
MOST_WORDS = 20


def helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    yield name, command.help or ""
    for one in command.params:
        if one.name != "help":
            yield f"{name} {one.opts[0]}", getattr(one, "help", "") or ""
    for below, inner in getattr(command, "commands", {}).items():
        yield from helps(inner, f"{name} {below}".strip())


def options_of_tasks() -> Iterator[tuple[str, str]]:
    for name in [*registry.names(), "a task file"]:
        kind = registry.task_class(name)
        for options in (kind.Options, kind.ScoreOptions):
            for one in task_flags(options, ""):
                yield f"{name} {one.opts[0]}", one.help or ""


def test_no_sentence_of_help_is_long_and_no_flag_is_without_one() -> None:
    found = [*helps(typer.main.get_command(app), ""), *options_of_tasks()]
    assert [where for where, text in found if not text.strip()] == []
    sentences = [
        (where, sentence)
        for where, text in found
        for paragraph in text.split("\n\n")
        for sentence in re.split(r"[.;:!?]\s+", _ONE.sub("x", " ".join(paragraph.split())))
    ]
    assert [one for one in sentences if len(one[1].split()) > MOST_WORDS] == []
