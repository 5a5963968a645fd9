"""What the bootstrap asks of a set of metrics."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from medeval.scoring.engine import Engine
from medeval.scoring.results import Floats, Labels

Counts = NDArray[np.integer[Any]]


class Statistic(Protocol):
    """Some metrics as a function of how often each kind of row occurs.

    Rows that no metric can tell apart share a bin, so a resample is a few counts rather than many
    rows, and nothing is sorted again.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Keys of the m metrics."""
        ...

    @property
    def rows(self) -> int:
        """Number of rows, n."""
        ...

    @property
    def labels(self) -> Labels | None:
        """Bin of each row, shape (n,); None where each row is a bin."""
        ...

    @property
    def n_bins(self) -> int:
        """Number of bins; n without labels."""
        ...

    @property
    def rankings(self) -> int:
        """How many passes over n rows one evaluation takes, about; for the choice of engine."""
        ...

    def from_bins(self, counts: Counts, engine: Engine) -> Floats:
        """Return the metrics, shape (batch, m), of counts of shape (batch, n_bins)."""
        ...

    def reasons(self, values: Floats) -> tuple[str | None, ...]:
        """Say why each point value that has no meaning has none; None where it has one."""
        ...
