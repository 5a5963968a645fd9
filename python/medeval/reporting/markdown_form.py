"""A report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from medeval.reporting.contents import Contents, TaskPart
from medeval.reporting.lines import Line, shown, shown_interval
from medeval.text import visible

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#&~])")


def report_markdown(contents: Contents) -> str:
    """Return the report: overall scores, every task, the ledger of items."""
    return "\n".join(_lines(contents)) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> Iterator[str]:
    """Yield the lines of a table.

    Args:
        header: titles of the columns.
        rows: cells, which are escaped here.
        texts: the first columns are text, the others are numbers and stand to the right.
    """
    yield f"| {' | '.join(header)} |"
    marks = ["---" if column < texts else "---:" for column in range(len(header))]
    yield f"| {' | '.join(marks)} |"
    for row in rows:
        yield f"| {' | '.join(escaped(cell) for cell in row)} |"


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", visible(" ".join(text.split())))


def _lines(contents: Contents) -> Iterator[str]:
    yield f"# {escaped(contents.model_id)}"
    yield ""
    for label, text in contents.about:
        yield f"- {label}: {escaped(text)}"
    if contents.failed:
        yield ""
        names = ", ".join(escaped(name) for name in contents.failed)
        yield f"**Failed, and in no mean: {names}**"
    yield ""
    yield "## Overall"
    yield ""
    yield from _scores(contents.overall)
    yield ""
    yield "## Tasks"
    for task in contents.tasks:
        yield ""
        yield from _task(task)
    if contents.outcomes:
        yield ""
        yield "## What became of each item"
        yield ""
        yield from _ledger(contents)


def _scores(lines: Sequence[Line]) -> Iterator[str]:
    if not lines:
        yield "No scores."
        return
    yield from table(
        ["score", "value", "interval", "n", "undefined", "note"],
        (
            [
                line.name,
                shown(line.value),
                shown_interval(line.interval),
                "" if line.n is None else str(line.n),
                str(line.n_undefined) if line.n_undefined else "",
                line.note,
            ]
            for line in lines
        ),
    )


def _task(task: TaskPart) -> Iterator[str]:
    yield f"### {escaped(task.task_id)}"
    yield ""
    facts = {
        "name": task.title,
        "status": task.status,
        "items": "" if task.n_items is None else str(task.n_items),
        "content": task.task_hash[:12],
    }
    yield ", ".join(f"{label} {escaped(text)}" for label, text in facts.items() if text)
    if task.error:
        yield ""
        yield f"**{escaped(task.error)}**"
    for warning in task.warnings:
        yield ""
        yield f"**{escaped(warning)}**"
    yield ""
    yield from _scores(task.lines)
    for note in task.notes:
        yield ""
        yield escaped(note)
    for one in task.tables:
        yield ""
        yield f"#### {escaped(one.title)}"
        yield ""
        yield from table([escaped(name) for name in one.columns], one.rows)
    if task.violations:
        yield ""
        yield "Schema violations:"
        yield ""
        for violation in task.violations:
            yield f"- {escaped(violation)}"
    if task.items:
        yield ""
        yield from table(
            ["item", "input", "output", "outcome"],
            ([one.id, one.shown, one.output, one.outcome] for one in task.items),
            texts=4,
        )
    if task.n_hidden:
        yield ""
        yield f"{task.n_hidden} more items are in the JSON report."
    if task.is_withheld:
        yield ""
        yield "Inputs and outputs are not shown: the task is not open."


def _ledger(contents: Contents) -> Iterator[str]:
    names = list(contents.outcomes)

    def counts(label: str, outcomes: Mapping[str, int]) -> list[str]:
        return [label, *(str(outcomes.get(name, 0)) for name in names)]

    rows = [counts(task.task_id, task.outcomes) for task in contents.tasks if task.outcomes]
    yield from table(["task", *names], [*rows, counts("all", contents.outcomes)])
