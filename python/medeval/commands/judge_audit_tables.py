"""The report of an audit as tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from medeval.judging.agreement import STATISTICS
from medeval.judging.audit import (
    AGREEMENT,
    ATTACKS,
    EFFECTS,
    HUMAN,
    LENGTH,
    NOT_DONE,
    PARTS,
    SANITY,
)

if TYPE_CHECKING:
    from rich.table import Table

_TITLES = {
    "exact": "equal",
    "within_1": "within 1",
    "quadratic_kappa": "kappa",
    "krippendorff_alpha": "alpha",
    "icc_2_1": "ICC(2,1)",
    "icc_3_k": "ICC(3,k)",
}
# What each figure of an effect is called; the share of unchanged scores stands beside them.
_FIGURES = {
    "deviation": "deviation",
    "widest_range": "widest range",
    "change": "change",
    "absolute_change": "size of the change",
    "spearman": "Spearman",
    "partial_on_overlap": "Spearman at equal overlap",
}
_CONTROLS = {
    "oracle": "the reference itself",
    "shuffled": "another question's reference",
    "empty": "nothing",
}
_MOST_WITH_GAPS = 8


def audit_tables(report: Mapping[str, Any]) -> Iterator[Table | str]:
    """Yield the tables of a report, and a sentence for each part that could not be done.

    Args:
        report: of `audit`.
    """
    done = {}
    for part in (HUMAN, *PARTS):
        found = report.get(part)
        if found is not None and NOT_DONE in found:
            yield f"{part}: {found[NOT_DONE]}"
        elif found is not None:
            done[part] = found
        if part == HUMAN and part in done:
            yield from _human(done[part])
        elif part == AGREEMENT and part in done:
            yield _agreement(done[part])
        elif part == EFFECTS[-1] and set(EFFECTS) & set(done):
            yield _effects(done)
        elif part == ATTACKS and part in done:
            yield from _attacks(done[part])
        elif part == SANITY and part in done:
            yield _sanity(done[part])


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
                [name, other, _count(agreed["exact"]), *(shown(agreed[each]) for each in _TITLES)]
                for name, other, agreed in rows
            ),
        )


def _agreement(found: Mapping[str, Any]) -> Table:
    def cell(own: Mapping[str, Any], statistic: str) -> str:
        if statistic != "quadratic_kappa":
            return shown(own[statistic])
        pairs = ((" / ".join(pair["judges"]), shown(pair)) for pair in own[statistic])
        return "\n".join(f"{names}\n{value}" for names, value in pairs)

    return _table(
        "agreement of the judges with each other",
        ["", "answers with all", *_TITLES.values()],
        (
            [name, f"{own['complete_items']:,}", *(cell(own, each) for each in STATISTICS)]
            for name, own in found["dimensions"].items()
        ),
    )


def _effects(done: Mapping[str, Any]) -> Table:
    """Return one table of all that moves a judge though the answers are the same."""
    rows = []
    for part in (one for one in EFFECTS if one in done):
        # Of length there is one kind, of the others one by judge or by prompt.
        kinds = {part: done[part]} if part == LENGTH else done[part]
        for kind, criteria in kinds.items():
            effect = kind.replace("_", " ") if part != EFFECTS[0] else f"repeats of {kind}"
            for criterion, own in criteria.items():
                unchanged = shown(own["unchanged"]) if "unchanged" in own else "-"
                for name, figure in own.items():
                    if name in _FIGURES:
                        is_estimate = isinstance(figure, Mapping)
                        count = figure if is_estimate else own["deviation"]
                        value = shown(figure) if is_estimate else _plain(figure)
                        cells = [effect, criterion, _FIGURES[name], _count(count), value]
                        rows.append([*cells, unchanged])
                        effect, criterion, unchanged = "", "", ""
    head = ["effect", "criterion", "figure", "answers", "value", "unchanged"]
    return _table("what moves a judge though the answers are the same", head, rows)


def _attacks(found: Mapping[str, Any]) -> Iterator[Table]:
    for judge, own in found.items():
        table = _table(
            f"attacks on {judge}",
            ["attack", "answers", "raised", "lowered", "largest rise", "verdicts lost", "flagged"],
            (
                [
                    f"{name}, harmless" if row["kind"] == "control" else name,
                    f"{row['answers']:,}",
                    f"{row['raised']:,}",
                    f"{row['lowered']:,}",
                    "-" if row["largest_change"] is None else f"{row['largest_change']:+.2f}",
                    f"{row['verdicts_lost']:,}",
                    f"{row['flagged']:,}",
                ]
                for name, row in own["attacks"].items()
            ),
        )
        table.caption = f"raised by {', '.join(own['raised_by']) or 'none of them'}"
        yield table


def _sanity(found: Mapping[str, Any]) -> Table:
    table = _table(
        "answers whose place is known",
        ["answer", "answers", "mean reward"],
        ([name, _count(found[kind]), shown(found[kind])] for kind, name in _CONTROLS.items()),
    )
    table.caption = {
        True: "they come in their order",
        False: "they do NOT come in their order",
        None: "too few have a verdict to tell their order",
    }[found["is_in_order"]]
    return table


def _count(estimate: Mapping[str, Any]) -> str:
    return f"{estimate['n']:,}"


def _plain(number: float | None) -> str:
    return "-" if number is None else f"{number:g}"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table; the columns after the last one that names something are numbers."""
    from rich import box
    from rich.table import Table

    # Eighty columns of a terminal have to do for the widest of them.
    gap = 1 if len(columns) <= _MOST_WITH_GAPS else 0
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE, padding=(0, gap, 0, 0), pad_edge=False
    )
    is_number = False
    for name in columns:
        is_number = is_number or name.startswith("answers")
        table.add_column(
            name,
            justify="right" if is_number else "left",
            overflow="fold",
            # On a narrow terminal names are folded, the heads of numbers stay as they are.
            min_width=max(map(len, name.split())) if is_number else None,
        )
    for row in rows:
        table.add_row(*row)
    return table
