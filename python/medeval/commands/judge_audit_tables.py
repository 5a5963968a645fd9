"""The report of an audit as tables on the terminal."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from medeval.judging.agreement import STATISTICS
from medeval.judging.audit import ATTACKS, EFFECTS, NOT_DONE, PARTS

if TYPE_CHECKING:
    from rich.table import Table

_WORDS = tomllib.loads(
    files("medeval.commands").joinpath("judge_audit.toml").read_text(encoding="utf-8")
)
_TITLES, _FIGURES, _CONTROLS, _ORDER = _WORDS.values()
_MOST_WITH_GAPS = 8


def audit_tables(report: Mapping[str, Any]) -> Iterator[Table | str]:
    """Yield the tables of a report, and a sentence for each part that could not be done.

    Args:
        report: of `audit`.
    """
    found = {part: report[part] for part in ("human", *PARTS) if report.get(part) is not None}
    done = {part: own for part, own in found.items() if NOT_DONE not in own}
    drawn = {"human": _human, "agreement": _agreement, ATTACKS: _attacks}
    for part in ("human", *PARTS):
        if part in found and part not in done:
            yield f"{part}: {found[part][NOT_DONE]}"
        elif part in done and part in drawn:
            yield from drawn[part](done[part])
        elif part in done and part == "sanity":
            own = done[part]
            yield _table(
                "answers whose place is known",
                ["answer", "answers", "mean reward"],
                ([n, f"{own[kind]['n']:,}", shown(own[kind])] for kind, n in _CONTROLS.items()),
                _ORDER[str(own["is_in_order"])],
            )
        if part == EFFECTS[-1] and set(EFFECTS) & set(done):
            yield _effects(done)


def shown(estimate: Mapping[str, Any]) -> str:
    """Return a value, below it its 95 % interval; a dash where there is none."""
    if estimate["value"] is None:
        return "-"
    # z: what is rounded to 0 has no sign.
    value = f"{estimate['value']:z.2f}"
    if estimate["low"] is None:
        return value
    return f"{value}\n{estimate['low']:z.2f}, {estimate['high']:z.2f}"


def _human(found: Mapping[str, Any]) -> Iterator[Table]:
    several = found["raters"] > 1
    for dimension, own in found["dimensions"].items():
        who = {**own["judges"], **({"the jury's mean": own["jury"]} if "jury" in own else {})}
        rows: list[tuple[str, str, Mapping[str, Any]]] = []
        for name, agreed in who.items():
            rows.append((name, "raters' mean" if several else "rater", agreed["with_mean"]))
            if several:
                rows.append(("", "each rater", agreed["with_each"]))
        if several:
            rows.append(("each rater", "other raters", own["raters"]))
        yield _table(
            f"agreement with people: {dimension}",
            ["", "with", "answers", *_TITLES.values()],
            (
                [name, other, f"{agreed['exact']['n']:,}", *(shown(agreed[n]) for n in _TITLES)]
                for name, other, agreed in rows
            ),
        )


def _agreement(found: Mapping[str, Any]) -> Iterator[Table]:
    rows = []
    for name, own in found["dimensions"].items():
        # Of kappa there is one for each pair.
        pairs = (f"{' / '.join(one['judges'])}\n{shown(one)}" for one in own["quadratic_kappa"])
        kappa = "\n".join(pairs)
        cells = (kappa if each == "quadratic_kappa" else shown(own[each]) for each in STATISTICS)
        rows.append([name, f"{own['complete_items']:,}", *cells])
    head = ["", "answers with all", *_TITLES.values()]
    yield _table("agreement of the judges with each other", head, rows)


def _effects(done: Mapping[str, Any]) -> Table:
    """Return one table of all that moves a judge though the answers are the same."""
    rows = []
    for part in (one for one in EFFECTS if one in done):
        # Of length there is one kind, of the others one by judge or by prompt.
        kinds = {part: done[part]} if part == "length" else done[part]
        for kind, criteria in kinds.items():
            effect = kind.replace("_", " ") if part != "repeats" else f"repeats of {kind}"
            for criterion, own in criteria.items():
                unchanged = shown(own["unchanged"]) if "unchanged" in own else "-"
                for name, title in _FIGURES.items():
                    if name not in own:
                        continue
                    figure, answers = own[name], f"{own.get('deviation', own[name])['n']:,}"
                    # A range is a number without an interval.
                    is_range = isinstance(figure, float)
                    value = f"{figure:g}" if is_range else shown(figure or {"value": None})
                    rows.append([effect, criterion, title, answers, value, unchanged])
                    effect = criterion = unchanged = ""
    head = ["effect", "criterion", "figure", "answers", "value", "unchanged"]
    return _table("what moves a judge though the answers are the same", head, rows)


def _attacks(found: Mapping[str, Any]) -> Iterator[Table]:
    head = ["attack", "answers", "raised", "lowered", "largest rise", "verdicts lost", "flagged"]
    for judge, own in found.items():
        rows = (
            [
                f"{name}, harmless" if row["kind"] == "control" else name,
                *(f"{row[count]:,}" for count in ("answers", "raised", "lowered")),
                "-" if row["largest_change"] is None else f"{row['largest_change']:+.2f}",
                *(f"{row[count]:,}" for count in ("verdicts_lost", "flagged")),
            ]
            for name, row in own["attacks"].items()
        )
        caption = f"raised by {', '.join(own['raised_by']) or 'none of them'}"
        yield _table(f"attacks on {judge}", head, rows, caption)


def _table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str | None = None
) -> Table:
    """Return a table; the columns after the last one that names something are numbers."""
    from rich import box
    from rich.table import Table

    # Eighty columns of a terminal have to do for the widest of them.
    padding = (0, int(len(columns) <= _MOST_WITH_GAPS), 0, 0)
    style: dict[str, Any] = {"box": box.SIMPLE, "padding": padding, "pad_edge": False}
    table = Table(title=title, title_justify="left", caption=caption, **style)
    is_number = False
    for name in columns:
        is_number = is_number or name.startswith("answers")
        # On a narrow terminal names are folded, the heads of numbers stay as they are.
        width = max(map(len, name.split())) if is_number else None
        justify: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(name, justify=justify, overflow="fold", min_width=width)
    for row in rows:
        table.add_row(*row)
    return table
