"""Keys of both files as whole numbers, so that rows are found by sorting and not by text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from medeval.predictions.tables import Predictions, Singles, Truth
from medeval.predictions.tasks import Task

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Keys:
    """The keys of both files.

    Attributes:
        names: the different stays.
        stays: which of them each row belongs to; rows of the listfile come before the others.
        hours: period_length of each row; None if it is no part of the key.
        listed: the listfile's keys.
        predicted: the prediction file's keys.
    """

    names: list[str]
    stays: Whole
    hours: Singles | None
    listed: Whole
    predicted: Whole

    def shown(self, rows: Whole) -> list[str]:
        """Return keys as messages show them."""
        hours = self.hours
        if hours is None:
            return [self.names[self.stays[row]] for row in rows]
        return [f"{self.names[self.stays[row]]} hour {hours[row]:g}" for row in rows]


def number_keys(task: Task, truth: Truth, predictions: Predictions) -> Keys:
    """Number the stays of both files alike; the hour's bits stand beside the number."""
    both = pa.concat_arrays([truth.stays, predictions.stays]).dictionary_encode()
    stays = np.from_dlpack(both.indices).astype(np.int64)
    names = both.dictionary.to_pylist()
    keys = stays
    hours = None
    if task.has_sample_times and truth.hours is not None and predictions.hours is not None:
        hours = np.concatenate([truth.hours, predictions.hours])
        keys = (stays << 32) | hours.view(np.uint32).astype(np.int64)
    size = len(truth.stays)
    return Keys(names, stays, hours, keys[:size], keys[size:])
