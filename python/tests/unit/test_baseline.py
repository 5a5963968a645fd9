"""The training of the ICU baselines on parts made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from medeval.scoring.resample import Floats
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


def test_a_label_of_one_class_predicts_its_prevalence() -> None:
    labels = [[float(row % 2), 0.0, 1.0] for row in range(40)]
    predict, about = train(BY_NAME["phenotyping"], a_part(labels, 1), a_part(labels, 2), seed=0)
    assert about["constant_labels"] == [2, 3]
    predicted = predict(a_part(labels, 3).features)
    assert (predicted[:, 1:] == [0.0, 1.0]).all()
    assert np.corrcoef(predicted[:, 0], [row[0] for row in labels])[0, 1] > 0.5


@pytest.mark.parametrize("rows", [0, 2], ids=["no rows", "one class"])
def test_the_first_penalty_stays_where_validation_cannot_tell(rows: int) -> None:
    training = a_part([[float(row % 2)] for row in range(40)], 1)
    tuning = Part(np.zeros((rows, 4)), np.ones((rows, 1)), np.ones(rows))
    _, about = train(BY_NAME["in_hospital_mortality"], training, tuning, seed=0)
    assert about.items() >= LOGISTIC[0].items()
    assert {tried["value"] for tried in about["validation"]} == {None}


def test_rows_count_by_their_weight_among_each_other() -> None:
    part = a_part([[float(row % 2)] for row in range(40)], 1)

    def predicted(weights: Floats) -> Floats:
        weighted = Part(part.features, part.labels, weights)
        return train(BY_NAME["decompensation"], weighted, part, seed=0)[0](part.features)

    equal = predicted(np.ones(40))
    np.testing.assert_allclose(predicted(np.full(40, 8.0)), equal, rtol=1e-12)
    heavy_ones = predicted(np.where(part.labels[:, 0] == 1, 5.0, 1.0))
    assert (heavy_ones > equal).all()
