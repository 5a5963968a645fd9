"""From scores to rewards: of one verdict, and of several judges together.

`reward` divides by all dimensions, so that a score which is missing earns nothing; `reward_judged`
divides by those that were judged. Both are given, so that neither hides the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from medeval.judging.rubric import Rubric
from medeval.judging.verdicts import OF_VERDICTS, Status

Scores = Mapping[str, float | None]
# What HELM gives an answer that no judge of its jury could grade.
HELM_DEFAULT = 1.0
_FEWEST_TO_TRIM = 3


@dataclass(frozen=True)
class Rewards:
    """What one answer earned.

    Attributes:
        reward: the share of all that could be earned, 0 to 1; 0 if nothing was judged.
        reward_judged: the share of what was judged; None if nothing was.
    """

    reward: float
    reward_judged: float | None


def rewards_of(scores: Scores, rubric: Rubric) -> Rewards:
    """Return the rewards of one verdict."""
    given = [score for score in scores.values() if score is not None]
    if not given:
        return Rewards(0.0, None)
    # Divided once: 4, 3 and 5 give 0.8 and not the float below it.
    earned = sum(given)
    return Rewards(
        earned / (rubric.high * len(rubric.dimensions)), earned / (rubric.high * len(given))
    )


def combined(rewards: Sequence[Rewards]) -> Rewards:
    """Return the mean over the judges that gave a verdict; those that gave none are left out."""
    usable = [each for each in rewards if each.reward_judged is not None]
    if not usable:
        return Rewards(0.0, None)
    return Rewards(fmean(each.reward for each in usable), fmean(_judged(usable)))


def median_reward(rewards: Sequence[Rewards]) -> float | None:
    """Return the median of what was judged over the judges that gave a verdict; None if none did.

    A dimension that a judge left out is missing in its part, as in `reward_judged`, and not 0.
    """
    usable = _judged(rewards)
    return median(usable) if usable else None


def trimmed_mean_reward(rewards: Sequence[Rewards]) -> float | None:
    """Return the mean of what was judged without the highest and the lowest judge.

    Of fewer than three judges with a verdict it is the mean of all; None if there is none. A
    dimension that a judge left out is missing in its part, as in `reward_judged`, and not 0.
    """
    usable = sorted(_judged(rewards))
    if len(usable) >= _FEWEST_TO_TRIM:
        usable = usable[1:-1]
    return fmean(usable) if usable else None


def _judged(rewards: Sequence[Rewards]) -> list[float]:
    return [each.reward_judged for each in rewards if each.reward_judged is not None]


def helm_jury_score(verdicts: Sequence[tuple[Status, Scores]]) -> float:
    """Return the score of HELM's jury, for comparison with its leaderboard.

    As there: the mean of all whole-number scores of the judges whose verdict is complete, and 1.0
    if there is none (Stanford CRFM, MedHELM).
    """
    given = [
        int(score)
        for status, scores in verdicts
        if status is Status.OK
        for score in scores.values()
        if score is not None
    ]
    return fmean(given) if given else HELM_DEFAULT


def status_of(statuses: Sequence[Status]) -> Status:
    """Return the best of several judges: one complete verdict is enough for a score."""
    return min(statuses, key=OF_VERDICTS.index, default=Status.FAILED)
