"""The training of the ICU baselines on parts made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from medeval.tasks.mimic3.baseline import LOGISTIC, Part, train
from medeval.tasks.mimic3.task import TASKS

BY_NAME = {task.name: task for task in TASKS}


def a_part(labels: list[list[float]], seed: int) -> Part:
    """Rows whose first feature follows the first label, one feature constant, one missing."""
    truth = np.array(labels)
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(len(truth), 4))
    features[:, 0] += 3 * truth[:, 0]
    features[:, 1] = 7.0
    features[:, 2] = np.nan
    return Part(features, truth, np.ones(len(truth)))


@pytest.mark.parametrize("rows", [0, 2], ids=["no rows", "one class"])
def test_the_first_penalty_stays_where_validation_cannot_tell(rows: int) -> None:
    training = a_part([[float(row % 2)] for row in range(40)], 1)
    tuning = Part(np.zeros((rows, 4)), np.ones((rows, 1)), np.ones(rows))
    _, about = train(BY_NAME["in_hospital_mortality"], training, tuning, seed=0)
    assert about.items() >= LOGISTIC[0].items()
    assert {tried["value"] for tried in about["validation"]} == {None}
