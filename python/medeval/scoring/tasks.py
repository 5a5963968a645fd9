"""The published metrics of each ICU task, on the data and on every resample.

The definitions, quirks included, are those of mimic3-benchmarks' evaluate_ihm.py,
evaluate_decomp.py, evaluate_los.py and evaluate_pheno.py.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from medeval.scoring.binary import Binary
from medeval.scoring.bootstrap import Resampling, score
from medeval.scoring.engine import Engine
from medeval.scoring.jackknife import jackknife
from medeval.scoring.length_of_stay import LengthOfStay
from medeval.scoring.phenotyping import Phenotyping
from medeval.scoring.results import EXCLUDE, STRICT, Advance, Floats, Integers, Scores, Undefined

__all__ = [
    "EXCLUDE",
    "STRICT",
    "Resampling",
    "Scores",
    "Undefined",
    "jackknife_binary",
    "jackknife_length_of_stay",
    "jackknife_phenotyping",
    "score_binary",
    "score_length_of_stay",
    "score_phenotyping",
]


def score_binary(
    truth: ArrayLike,
    prediction: ArrayLike,
    resampling: Resampling,
    *,
    undefined: Undefined = EXCLUDE,
    progress: Advance | None = None,
    engine: Engine = Engine.AUTO,
) -> Scores:
    """Score in-hospital mortality or decompensation.

    Gives `AUC of ROC`, `AUC of PRC` (the trapezoid area under the precision-recall curve, not
    average precision) and `min(+P, Se)`.

    Args:
        truth: 0 or 1, shape (n,).
        prediction: scores, shape (n,); only their order counts.
        resampling: what is drawn, and how often.
        undefined: what the metrics are on rows of one class.
        progress: called with the number of resamples done since the last call.
        engine: numpy or numba; the numbers are the same.
    """
    statistic = Binary.of(truth, prediction, undefined)
    return score(statistic, resampling, engine=engine, progress=progress)


def score_length_of_stay(
    truth: ArrayLike,
    prediction: ArrayLike,
    resampling: Resampling,
    *,
    undefined: Undefined = EXCLUDE,
    progress: Advance | None = None,
    engine: Engine = Engine.AUTO,
) -> Scores:
    """Score the remaining length of stay.

    Gives `Kappa` (linear weights over ten bins), `MAD` (the mean absolute error, hours), `MSE`
    (hours squared) and `MAPE` (percent of the truth plus 0.1 hours).

    Args:
        truth: hours, shape (n,), already rounded through float32 as the published program does.
        prediction: hours, shape (n,); below 0 counts as 0.
        resampling: what is drawn, and how often.
        undefined: makes no difference here; a kappa of one bin is NaN either way.
        progress: called with the number of resamples done since the last call.
        engine: numpy or numba; the numbers are the same.
    """
    return score(LengthOfStay.of(truth, prediction), resampling, engine=engine, progress=progress)


def score_phenotyping(
    truth: ArrayLike,
    prediction: ArrayLike,
    resampling: Resampling,
    *,
    undefined: Undefined = EXCLUDE,
    progress: Advance | None = None,
    engine: Engine = Engine.AUTO,
) -> Scores:
    """Score phenotyping.

    Gives `Macro ROC AUC`, `Micro ROC AUC` (of all pairs of a row and a label), `Weighted ROC AUC`
    (by each label's positives in the resample) and `ROC AUC of task 1` to `25`.

    Args:
        truth: 0 or 1, shape (n, 25).
        prediction: scores, shape (n, 25).
        resampling: what is drawn, and how often; a row carries all its labels.
        undefined: what the weighted mean is without any positive; an area of one class is NaN
            either way.
        progress: called with the number of resamples done since the last call.
        engine: numpy or numba; the numbers are the same.
    """
    statistic = Phenotyping.of(truth, prediction, undefined)
    return score(statistic, resampling, engine=engine, progress=progress)


def jackknife_binary(
    truth: ArrayLike, prediction: ArrayLike, clusters: Integers | None = None
) -> Floats:
    """Return what `score_binary` gives without each part of the data; see `jackknife`."""
    return jackknife(Binary.of(truth, prediction), clusters)


def jackknife_length_of_stay(
    truth: ArrayLike, prediction: ArrayLike, clusters: Integers | None = None
) -> Floats:
    """Return what `score_length_of_stay` gives without each part of the data; see `jackknife`."""
    return jackknife(LengthOfStay.of(truth, prediction), clusters)


def jackknife_phenotyping(
    truth: ArrayLike, prediction: ArrayLike, clusters: Integers | None = None
) -> Floats:
    """Return what `score_phenotyping` gives without each part of the data; see `jackknife`."""
    return jackknife(Phenotyping.of(truth, prediction), clusters)
