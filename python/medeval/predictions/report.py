"""The plain sentences under a table: what was scored, and what an interval stands for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from medeval.predictions.choices import Interval
from medeval.predictions.scored import Scored
from medeval.predictions.tasks import Kind


def sentences(scored: Scored) -> Iterator[str]:
    """Yield one sentence after the other."""
    request = scored.request
    joined = scored.inputs.joined
    method = request.method
    task = request.task
    rows, stays = len(joined.stays), len(np.unique(joined.stays))
    counted = f"{rows:,} rows of {stays:,} stays" if rows != stays else f"{rows:,} stays"
    if task.kind is Kind.BINARY:
        counted += f", {int(joined.truth.sum()):,} positive"
    yield f"{task.name}: {counted}; truth from {scored.inputs.listfile.name}."
    if method.n_iters:
        unit = f"{request.cluster.value}s" if request.cluster else "rows"
        kind = "BCa" if method.interval is Interval.BCA else "percentile"
        yield (
            f"Intervals: 95 %, {kind}, from {method.n_iters:,} resamples of {unit}, seed"
            f" {method.seed}."
        )
        if task.has_sample_times and request.cluster is None:
            yield (
                "The hours of one stay are alike, and here each is drawn as if it stood alone: the"
                " intervals are too narrow. --cluster stay draws whole stays."
            )
    few = f"fewer than {request.min_cell} stays in all or of one class (--min-cell)"
    for grouping, cells in scored.subgroups.items():
        suppressed = sum(found is None for _, found in cells)
        if not cells:
            yield f"By {grouping.value}: nothing can be told, for it would tell of {few}."
        elif suppressed:
            yield (
                f"By {grouping.value}: {suppressed:,} of {len(cells):,} groups are hidden, since"
                f" one of them has {few}, or such a one could be worked out from it."
            )
