"""What a score of an ICU task is drawn as, beside its values: see `models.plots`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from medeval.models.plots import Plot, ends_of
from medeval.models.scores import Interval
from medeval.scoring.curves import Curves, calibration_plot, confusion_cells
from medeval.tasks.mimic3.metrics import EDGES_HOURS, LABEL_METRIC, N_BINS, LengthOfStay
from medeval.tasks.mimic3.predictions import Rows
from medeval.tasks.mimic3.task import LAYOUT, IcuTask
from medeval.tasks.task import Method

HOURS_A_DAY = 24
SAID = LAYOUT["plots"]


def plots_of(
    task: type[IcuTask],
    joined: Rows,
    curves: Curves | None,
    intervals: Mapping[str, Interval],
    method: Method,
) -> Iterator[Plot]:
    """Yield the plots that the task calls for; none that would tell of too few stays.

    Args:
        task: what was scored.
        joined: truth and predictions.
        curves: of a binary outcome, with those of its resamples.
        intervals: of each metric.
        method: the smallest number of stays that is told.
    """
    if curves is not None:
        yield from curves.plots(method.cluster)
        data = joined.truth, joined.prediction, joined.stays
        if calibration := calibration_plot(*data, method.min_cell):
            alike = [SAID["alike"]] if task.has_sample_times or method.cluster else []
            note = " ".join([*filter(None, [calibration.note]), *alike])
            yield calibration.model_copy(update={"note": note})
    elif task.kind == "labels":
        single = [intervals[name] for name in intervals if name.startswith(LABEL_METRIC)]
        yield Plot(
            kind="bars",
            name="by_label",
            title=SAID["labels"],
            x_label="AUC of ROC",
            y=[one.value for one in single],
            **ends_of(single),
            labels=list(joined.columns),
            level=0.5,
            level_label="chance",
            limits=(0.0, 1.0),
        )
    else:
        cells = LengthOfStay(joined.truth, joined.prediction).cells.astype(int)
        found, note = confusion_cells(cells, joined.stays, N_BINS, method.min_cell)
        days = [f"{edge / HOURS_A_DAY:g}" for edge in EDGES_HOURS]
        labels = [f"{low}-{high}" for low, high in zip(["0", *days], days, strict=False)]
        yield Plot(
            kind="confusion",
            name="observed_predicted",
            title=SAID["hours"],
            x_label="predicted, days",
            y_label="observed, days",
            labels=[*labels, f"{days[-1]}+"],
            cells=found,
            note=note,
        )
