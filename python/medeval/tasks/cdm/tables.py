"""CDM's scores as tables: by pathology, by groups of patients and by subsets.

A subset is a list of cases and no group of patients by what they are, so none is hidden for being
small: whoever names it knows who is in it, and the score of each case is beside it anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from medeval.models.scores import LEVEL, Interval
from medeval.tasks.cdm.aggregate import Aggregate, ScoredCase, means, score_names
from medeval.tasks.cdm.cases import Subset
from medeval.tasks.cdm.scores import DIAGNOSIS
from medeval.tasks.task import Method, Table

NOT_ASKED = "not_asked"
ZEROED = "mean_failures_as_zero"
Groups = dict[str, dict[str, float | None]]


def headline_table(found: Aggregate) -> Table:
    """Return the headline by pathology."""
    headlines = {name: of[DIAGNOSIS] for name, of in found.by_pathology.items()}
    return Table(
        "by pathology",
        ("pathology", "n", "failed", DIAGNOSIS, "95 % interval"),
        [
            (name, f"{one.n:,}", f"{one.n_failed:,}", *_cells(one.shown))
            for name, one in headlines.items()
        ],
    )


def detail_tables(found: Aggregate, conduct: Mapping[str, int | Mapping[str, int]]) -> list[Table]:
    """Return every score with its interval for each pathology, and what the model did.

    Failed cases count as zero, but in counts, which are means over the answered cases.
    """
    scores = []
    for name in found.overall:
        cells = [_cells(of[name].shown) for of in found.by_pathology.values()]
        scores.append((name, *(f"{one} ({ends})" if ends else one for one, ends in cells)))
    rows = []
    for name, value in conduct.items():
        counts = value if isinstance(value, Mapping) else {"": value}
        kind = "context: " if isinstance(value, Mapping) else name
        rows += [(f"{kind}{key}".replace("_", " "), f"{n:,}") for key, n in counts.items()]
    return [
        Table("scores by pathology", ("score", *found.by_pathology), scores),
        Table("what was done, over all cases", ("", "number"), rows),
    ]


def _cells(found: Interval) -> tuple[str, str]:
    """Return a value and the ends of its interval as tables show them; empty for no interval."""
    shown = "undefined" if found.value is None else f"{found.value:.4f}"
    return shown, "" if found.low is None else f"{found.low:.4f} to {found.high:.4f}"


def shown_groups(groups: Iterable[Mapping[str, Any]], scores: Sequence[str]) -> Groups:
    """Return the values of each group as tables show them, None for what is hidden.

    Args:
        groups: each with `name`, `n` and its means in `scores`, as JSON values.
        scores: whose values.
    """
    return {
        group["name"]: {
            "n": None if group["n"] is None else float(group["n"]),
            **{score: group["scores"].get(score, {}).get(ZEROED) for score in scores},
        }
        for group in groups
    }


def gap_sentences(found: Mapping[str, Any]) -> Iterator[str]:
    """Say where groups are hidden, and which gaps are more than chance."""
    few = f"fewer than {found['min_cell']} cases, in all or of one pathology (--min-cell)"
    for name, grouping in found["attributes"].items():
        groups = grouping["groups"]
        n_hidden = sum(group["suppressed"] is not None for group in groups)
        if not groups:
            yield f"By {name} nothing can be told, for it would tell of {few}."
        elif n_hidden:
            yield (
                f"By {name}, {n_hidden} of {len(groups)} groups are hidden, since one of them has"
                f" {few}, or such a one could be worked out from it."
            )
    for name, grouping in found["attributes"].items():
        for gap in grouping["gaps"]:
            if gap["p_holm"] is not None and gap["p_holm"] < 1 - LEVEL:
                yield (
                    f"{gap['score']} differs by {name}: {gap['first']} less {gap['second']} is"
                    f" {gap['gap']:+.3f}, where their pathologies alone would make"
                    f" {gap['expected_gap']:+.3f} (p = {gap['p_holm']:.4f} after Holm)."
                )


def gap_table(found: Mapping[str, Any]) -> Table:
    """Return all gaps, tested or not."""
    return Table(
        "gaps between groups",
        ("score", "by", "groups", "gap", "expected", "p (Holm)"),
        [
            (
                gap["score"],
                name,
                f"{gap['first']} less {gap['second']}",
                f"{gap['gap']:+.4f}",
                f"{gap['expected_gap']:+.4f}",
                "not tested" if gap["p_holm"] is None else f"{gap['p_holm']:.4f}",
            )
            for name, grouping in found["attributes"].items()
            for gap in grouping["gaps"]
        ],
    )


def subset_scores(
    cases: Sequence[ScoredCase], subsets: Sequence[Subset], method: Method, possible: Sequence[str]
) -> tuple[list[dict[str, Any]], Table]:
    """Score each subset by itself.

    Args:
        cases: all cases of the run, those that failed too.
        subsets: which of them belong together; cases may be in several.
        method: of the intervals.
        possible: the scores that there are for a case that is answered.

    Returns:
        A table of the values, the headline of each subset first, and JSON values: which subset;
        `n`, its cases among those of the run; how many of them failed, and since the run has not
        come to them; how many the run was not to ask, which are in no value; and the mean of each
        score over the n cases.
    """
    names = score_names(cases, possible)
    found, rows = [], []
    for subset in subsets:
        wanted = frozenset(subset.hadm_ids)
        its = [case for case in cases if case.hadm_id in wanted]
        scores = means(its, names, seed=method.seed, n_iters=method.n_iters)
        rows += [
            (subset.name, name, *_cells(scores[name].shown), str(len(its)))
            for name in sorted(scores, key=lambda name: name != DIAGNOSIS)
        ]
        found.append(
            {
                **subset.about(),
                "n": len(its),
                "n_failed": sum(case.score is None for case in its),
                "not_asked": sum(case.failure == NOT_ASKED for case in its),
                "not_in_run": len(wanted) - len(its),
                "scores": {name: mean.as_json() for name, mean in scores.items()},
            }
        )
    head = ("subset", "metric", "value", "95 % interval", "n")
    return found, Table("by subset", head, rows)


def subset_sentences(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say which subsets are not whole."""
    for one in found:
        its = f"of its {one['cases']:,} cases"
        if one["not_in_run"]:
            yield (
                f"subset {one['name']}: {one['not_in_run']:,} {its} are not in this run; its"
                " values are of the others only."
            )
        if one["not_asked"]:
            yield (
                f"subset {one['name']}: {one['not_asked']:,} {its} were never asked and count as"
                " failed."
            )
