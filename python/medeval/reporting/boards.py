"""A leaderboard: the scores of several models over the same tasks, and its forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medeval.errors import UserError
from medeval.models.csv_rows import table_for_spreadsheets
from medeval.models.scores import Interval
from medeval.models.text_files import write_text
from medeval.reporting.lines import Line, shown, shown_interval
from medeval.reporting.markdown_form import escaped, table

FORMATS = ("md", "csv", "html")

_HEADER = (
    *("rank", "model", "score", "value", "low", "high", "level", "method"),
    *("n", "n_undefined", "n_tasks"),
)


@dataclass(frozen=True)
class Cell:
    """One score of one model.

    Attributes:
        value: the mean over the tasks of the column.
        interval: None where there is none.
        n: the number of items behind it; None where unknown.
        n_undefined: items of the tasks that have no score.
    """

    value: float
    interval: Interval | None
    n: int | None
    n_undefined: int


@dataclass(frozen=True)
class Row:
    """One model.

    Attributes:
        rank: its place by the ranking score; equal values share one.
        model: its name, with the run where one name comes twice.
        cells: score to cell.
        failed: ids of its tasks that failed.
    """

    rank: int
    model: str
    cells: Mapping[str, Cell]
    failed: Sequence[str]


@dataclass(frozen=True)
class Leaderboard:
    """Models by rank, over the tasks that all of them have scores for.

    Attributes:
        by: the score that ranks.
        columns: score to the tasks that it is a mean over, the ranking score first.
        rows: the models, the best first.
        notes: what a reader has to know: tasks left out, and why.
    """

    by: str
    columns: Mapping[str, Sequence[str]]
    rows: Sequence[Row]
    notes: Sequence[str]

    def to_markdown(self) -> str:
        """Return the board as Markdown: models by rank, then every score of every model."""
        ranks = (
            [str(row.rank), row.model, *_texts(row.cells[self.by]), ", ".join(row.failed)]
            for row in self.rows
        )
        every = (
            [name, str(len(tasks)), *(" ".join(_texts(row.cells[name])) for row in self.rows)]
            for name, tasks in self.columns.items()
        )
        names = [escaped(row.model) for row in self.rows]
        return "\n".join(
            [
                "# Leaderboard",
                "",
                *table(["rank", "model", escaped(self.by), "interval", "failed tasks"], ranks, 2),
                "",
                "## Every score",
                "",
                *table(["score", "tasks", *names], every),
                "",
                *(f"- {escaped(note)}" for note in self.notes),
                "",
            ]
        )

    def to_csv(self) -> str:
        """Return the board as a table with one line for each model and score."""
        rows = []
        for row in self.rows:
            for name, cell in row.cells.items():
                one = cell.interval
                ends = [one.low, one.high, one.level, one.method] if one else 4 * [None]
                counted = [cell.n, cell.n_undefined, len(self.columns[name])]
                rows.append([row.rank, row.model, name, cell.value, *ends, *counted])
        return table_for_spreadsheets(_HEADER, rows)

    def to_html(self) -> str:
        """Return the board as one page that needs no other file."""
        from medeval.reporting.html_form import page

        lines = [
            (row, Line(self.by, "metric", row.cells[self.by].value, row.cells[self.by].interval))
            for row in self.rows
        ]
        return page("board.html", board=self, lines=lines)

    def write(self, path: str | Path) -> None:
        """Write the board to a file: .md, .csv or .html.

        Raises:
            UserError: another suffix.
        """
        place = Path(path)
        kind = place.suffix.lower().removeprefix(".")
        if kind not in FORMATS:
            raise UserError(f"{place}: a leaderboard is written as {', '.join(FORMATS)}.")
        forms = {"md": self.to_markdown, "csv": self.to_csv, "html": self.to_html}
        write_text(place, forms[kind]())


def _texts(cell: Cell) -> tuple[str, str]:
    between = shown_interval(cell.interval)
    return shown(cell.value), f"({between})" if between else ""
