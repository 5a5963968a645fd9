"""The report of an audit as tables on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from medeval.judging.audit import (
    AGREEMENT,
    ATTACKS,
    HUMAN,
    LENGTH,
    ORDER,
    REFERENCE,
    REPEATS,
    SANITY,
)
from medeval.judging.pair_statistics import STATISTICS

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
_NOT_DONE = "reason"
_MOST_WITH_GAPS = 8


def audit_tables(report: Mapping[str, Any]) -> Iterator[Table | str]:
    """Yield a table for each part of a report, and a sentence for one that could not be done.

    Args:
        report: of `audit`.
    """
    for part, tables in _TABLES.items():
        found = report.get(part)
        if found is None:
            continue
        if _NOT_DONE in found:
            yield f"{part}: {found[_NOT_DONE]}"
        else:
            yield from tables(found)


def shown(estimate: Mapping[str, Any]) -> str:
    """Return a value, below it its 95 % interval; a dash where there is none."""
    if estimate["value"] is None:
        return "-"
    value = f"{estimate['value']:.2f}"
    if estimate["low"] is None:
        return value
    return f"{value}\n{estimate['low']:.2f}, {estimate['high']:.2f}"


def _human(found: Mapping[str, Any]) -> Iterator[Table]:
    several = found["raters"] > 1
    for dimension, own in found["dimensions"].items():
        who = dict(own["judges"])
        if "jury" in own:
            who["the jury's mean"] = own["jury"]
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
                [
                    name,
                    other,
                    _count(agreed["exact"]),
                    *(shown(agreed[each]) for each in STATISTICS),
                ]
                for name, other, agreed in rows
            ),
        )


def _agreement(found: Mapping[str, Any]) -> Iterator[Table]:
    yield _table(
        "agreement of the judges with each other",
        ["", "answers with all", *_TITLES.values()],
        (
            [
                name,
                f"{own['complete_items']:,}",
                *(
                    "\n".join(
                        f"{' / '.join(pair['judges'])}\n{shown(pair)}"
                        for pair in own["quadratic_kappa"]
                    )
                    if statistic == "quadratic_kappa"
                    else shown(own[statistic])
                    for statistic in STATISTICS
                ),
            ]
            for name, own in found["dimensions"].items()
        ),
    )


def _repeats(found: Mapping[str, Any]) -> Iterator[Table]:
    yield _table(
        "spread of a judge's repeats",
        ["judge", "", "answers", "deviation", "unchanged", "widest range"],
        (
            [
                judge,
                name,
                _count(own["deviation"]),
                shown(own["deviation"]),
                shown(own["unchanged"]),
                "-" if own["widest_range"] is None else f"{own['widest_range']:g}",
            ]
            for judge, dimensions in found.items()
            for name, own in dimensions.items()
        ),
    )


def _shift(title: str) -> Callable[[Mapping[str, Any]], Iterator[Table]]:
    def tables(found: Mapping[str, Any]) -> Iterator[Table]:
        yield _table(
            title,
            ["prompt", "", "answers", "change", "size of the change", "unchanged"],
            (
                [
                    variant.replace("_", " "),
                    name,
                    _count(own["change"]),
                    *(shown(own[each]) for each in ("change", "absolute_change", "unchanged")),
                ]
                for variant, dimensions in found.items()
                for name, own in dimensions.items()
            ),
        )

    return tables


def _length(found: Mapping[str, Any]) -> Iterator[Table]:
    yield _table(
        "correlation of an answer's length with its score",
        ["", "answers", "Spearman", "at equal overlap"],
        (
            [
                name,
                _count(own["spearman"]),
                shown(own["spearman"]),
                shown(own["partial_on_overlap"]),
            ]
            for name, own in found.items()
        ),
    )


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
        raised = ", ".join(own["raised_by"])
        table.caption = f"raised by {raised}" if raised else "raised by none of them"
        yield table


def _sanity(found: Mapping[str, Any]) -> Iterator[Table]:
    named = {
        "oracle": "the reference itself",
        "shuffled": "another question's reference",
        "empty": "nothing",
    }
    table = _table(
        "answers whose place is known",
        ["answer", "answers", "mean reward"],
        ([name, _count(found[kind]), shown(found[kind])] for kind, name in named.items()),
    )
    table.caption = {
        True: "they come in their order",
        False: "they do NOT come in their order",
        None: "too few have a verdict to tell their order",
    }[found["is_in_order"]]
    yield table


def _count(estimate: Mapping[str, Any]) -> str:
    return f"{estimate['n']:,}"


def _table(title: str, columns: Sequence[str], rows: Iterator[list[str]]) -> Table:
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


_TABLES: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Table]]] = {
    HUMAN: _human,
    AGREEMENT: _agreement,
    REPEATS: _repeats,
    ORDER: _shift("the same answers in another order"),
    REFERENCE: _shift("the same answers without the reference"),
    LENGTH: _length,
    ATTACKS: _attacks,
    SANITY: _sanity,
}
