"""Which rows are drawn together in a resample."""

from __future__ import annotations

import numpy as np

from medeval.errors import UserError
from medeval.predictions.choices import Cluster
from medeval.predictions.joining import Joined
from medeval.predictions.keys import Whole


def clusters(joined: Joined, cluster: Cluster | None) -> Whole | None:
    """Return each row's cluster as a number from 0; None if every row stands for itself.

    Clusters are numbered by their name, so that no file's order of rows changes the numbers.

    Raises:
        UserError: subjects are asked for, and a stay's name does not begin with one.
    """
    if cluster is None:
        return None
    used, stay_of_row = np.unique(joined.stays, return_inverse=True)
    names = [joined.names[stay] for stay in used]
    if cluster is Cluster.SUBJECT:
        bad = [name for name in names if "_" not in name]
        if bad:
            raise UserError(
                f"--cluster subject: {len(bad):,} stays are not named"
                f" <subject>_episode<n>_timeseries.csv: {'; '.join(bad[:10])}."
            )
        names = [name.partition("_")[0] for name in names]
    numbers = np.unique(names, return_inverse=True)[1].astype(np.int64)
    return np.asarray(numbers[stay_of_row])
