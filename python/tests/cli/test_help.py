"""Help is short and whole: a screen for `run`, no long sentence, no flag without one, none cut."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from in_process import Main

from medeval.cli import app

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


def options_of_tasks(main: Main) -> Iterator[tuple[str, str]]:
    """Yield each flag that the help of a task shows, with what is said of it."""
    tasks = [one["task"] for one in json.loads(main("tasks", "--json").out)]
    for task in tasks:
        for command in ("run", "score"):
            _, _, shown = main(command, "--task", task, "--help").out.partition("\nOptions of ")
            for entry in re.findall(r"^  -.*(?:\n {4,}.*)*", shown, re.MULTILINE):
                flag, *said = re.split(r"\s{2,}", entry.strip(), maxsplit=1)
                yield f"{task} {flag}", re.sub(r"\s+\[[^\]]*\]$", "", " ".join(said))


def test_no_sentence_of_help_is_long_and_no_flag_is_without_one(main: Main) -> None:
    of_tasks = [*options_of_tasks(main)]
    assert len(of_tasks) > 50
    found = [*helps(typer.main.get_command(app), ""), *of_tasks]
    assert [where for where, text in found if not text.strip()] == []
    sentences = [
        (where, sentence)
        for where, text in found
        for paragraph in text.split("\n\n")
        for sentence in re.split(r"[.;:!?]\s+", _ONE.sub("x", " ".join(paragraph.split())))
    ]
    assert [one for one in sentences if len(one[1].split()) > MOST_WORDS] == []


OF_JUDGES = ("run --task mtsamples", "judge")


@pytest.mark.parametrize("words", ["run", "run --task yier", "score --task ihm", *OF_JUDGES])
def test_names_of_flags_are_whole_and_judges_are_shown_where_a_task_has_them(
    words: str, monkeypatch: pytest.MonkeyPatch, main: Main
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = main(*words.split(), "--help").out
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    command = commands[words.partition(" ")[0]]
    flags = {word for one in command.params for word in one.opts if word[:2] == "--"}
    assert not re.search(r"…|\.\.\.", shown)
    of_judges = {word for word in flags if re.match("--(judge|jury|rubric|no-judge)", word)}
    missing = {word for word in flags if not re.search(rf"{word}\b", shown)}
    assert missing == (set() if words in OF_JUDGES else of_judges)
    assert max(map(len, shown.splitlines())) <= 80
    if words == "run":
        assert len(shown.splitlines()) <= 50


@pytest.mark.parametrize("words", [(), ("yier",)])
def test_what_a_command_does_is_whole_in_the_list_of_commands(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, main: Main
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, _, listed = main(*words, "--help").out.partition("\nCommands:\n")
    assert listed
    assert "..." not in listed
