"""Who judges a run: the plans that its record keeps, and the folder in which each one works."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from medeval.errors import UserError
from medeval.inference.endpoints import is_loopback

if TYPE_CHECKING:
    from medeval.judging.judges import Judge
    from medeval.tasks.run_record import RunRecord

KEY_VARIABLE = "JUDGE_API_KEY"
NO_KEY = "none"

Pooling = Literal["mean", "median", "trimmed_mean"]


class JudgeModel(BaseModel):
    """One judge of a run, as its record keeps it: never a key.

    Attributes:
        model: as its endpoint calls it; `local` for the rule that is built in.
        base_url: of its endpoint; None for the rule.
        key_variable: the environment variable with its key; `none` for an endpoint without keys,
            None for JUDGE_API_KEY, else OPENAI_API_KEY.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(min_length=1)]
    base_url: str | None = None
    key_variable: str | None = None

    def as_judge(self) -> Judge:
        """Return the judge. An endpoint on this machine needs no key unless one is there for it."""
        from medeval.judging.judges import Judge

        is_here = self.base_url is not None and is_loopback(self.base_url)
        has_own = self.key_variable is not None or bool(os.environ.get(KEY_VARIABLE, "").strip())
        return Judge(
            self.model,
            base_url=self.base_url,
            key_variable=None if self.key_variable == NO_KEY else self.key_variable,
            needs_key=self.key_variable != NO_KEY and (has_own or not is_here),
        )


class JudgingPlan(BaseModel):
    """Who judges a run, and how their rewards become one.

    Attributes:
        judges: one, or a jury.
        pooling: of a jury.
        repeats: judgments of each answer by each judge.
        re_asks: how often an unusable verdict is asked for again.
        seed: of the fences around the material.
        folder: below the run's, where the judgments are; `.` is the run's own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    judges: tuple[JudgeModel, ...]
    pooling: Pooling = "mean"
    repeats: Annotated[int, Field(ge=1)] = 1
    re_asks: Annotated[int, Field(ge=0, le=9)] = 1
    seed: int = 0
    folder: Annotated[str, Field(pattern=r"^(\.|judging-[0-9]+)$")] = "."

    @property
    def who(self) -> list[Judge]:
        """The judges."""
        return [judge.as_judge() for judge in self.judges]

    def to_name(self, *, is_address_named: bool = False) -> dict[str, str]:
        """Return the flag that a command must have before keys are sent, with its value.

        A record may name any variable and any address. Of itself the usual variable goes to the
        usual address, and nothing else anywhere.

        Args:
            is_address_named: the addresses are from the command, not from a record.
        """
        from medeval.judging.judges import KEY_VARIABLES, Judge

        for one in self.judges:
            judge = one.as_judge()
            is_usual = is_address_named or one.base_url == Judge(one.model).endpoint(os.environ)
            is_usual = is_usual and one.key_variable in (None, *KEY_VARIABLES)
            if not (is_usual or judge.is_rule) and judge.needs_key:
                there = (name for name in KEY_VARIABLES if os.environ.get(name, "").strip())
                key = one.key_variable or next(there, KEY_VARIABLE)
                return {"--judge-key-variable": key}
        return {}

    def who_judges(self) -> tuple[frozenset[tuple[str, str]], int]:
        """Return what the calls depend on: the judges, in whatever order, and the seed."""
        return frozenset((one.model, one.base_url or "") for one in self.judges), self.seed

    def same_judging(self) -> tuple[Any, ...]:
        """Return what two runs must have in common for their rewards to be compared."""
        return (*self.who_judges(), self.pooling if len(self.judges) > 1 else "", self.repeats)


def plan_of(
    models: Sequence[str],
    base_urls: Sequence[str],
    key_variable: str | None = None,
    **choices: Any,
) -> JudgingPlan:
    """Return a plan: judges by their models, with one address for all of them or one for each.

    The address is that of now: a judging that goes on later asks at the same one, whatever the
    environment says then.

    Raises:
        UserError: addresses that cannot be given to the judges, or a choice that cannot be meant.
    """
    from medeval.judging.judges import Judge
    from medeval.judging.local_judge import LOCAL

    if len(base_urls) not in (0, 1, len(models)):
        raise UserError(
            f"There are {len(models)} judges and {len(base_urls)} addresses. Give one address for"
            " all of them, or one for each."
        )
    urls: list[str | None] = list(base_urls)
    if len(urls) < len(models):
        urls = (urls or [None]) * len(models)
    given = {name: value for name, value in choices.items() if value is not None}
    judges: list[dict[str, str | None]] = []
    for model, url in zip(models, urls, strict=True):
        judges.append({"model": model})
        if model != LOCAL or url is not None:
            address = Judge(model, base_url=url).endpoint(os.environ)
            judges[-1] |= {"base_url": address, "key_variable": key_variable}
    return checked_plan(judges=judges, **given)


def chosen_plan(
    record: RunRecord, wanted: JudgingPlan | None, choices: Mapping[str, Any] | None = None
) -> JudgingPlan:
    """Return the judging to be gone on with, or a new one with a folder of its own.

    The same judges go on where they were, and as they did, but for what is chosen anew: another
    pooling, more repeats or re-asks, another variable with the key.

    Args:
        record: of the run.
        wanted: who is to judge; None goes on with the newest judging.
        choices: pooling, repeats or re_asks that it is to have from now on.

    Raises:
        UserError: nobody is named, and the run was never judged.
    """
    known = record.judgings
    if wanted is None:
        if not known:
            raise UserError(
                f"{record.folder} was never judged. Name a judge: `python -m medeval judge"
                f" {record.folder} --judge-model MODEL` (`local` is a rule that needs no network)."
            )
        return known[-1].model_copy(update=dict(choices or {}))
    same = [plan for plan in known if plan.who_judges() == wanted.who_judges()]
    if same:
        keys = {(one.model, one.base_url or ""): one.key_variable for one in same[-1].judges}
        judges = tuple(
            one.model_copy(
                update={"key_variable": one.key_variable or keys[one.model, one.base_url or ""]}
            )
            for one in wanted.judges
        )
        return same[-1].model_copy(update={"judges": judges, **(choices or {})})
    return wanted.model_copy(update={"folder": _free_folder(record.folder, known, wanted)})


def _free_folder(run: Path, known: Sequence[JudgingPlan], wanted: JudgingPlan) -> str:
    """Return the first folder that no other judging has.

    One that came to no verdict is not in the run's record, but its files may be there: the same
    judges go on with them, others leave them alone.
    """
    taken = {plan.folder for plan in known}
    names = chain([] if known else ["."], (f"judging-{number}" for number in count(2)))
    return next(
        name
        for name in names
        if name not in taken and _begun_by(run / name) in (None, wanted.who_judges())
    )


def _begun_by(folder: Path) -> tuple[frozenset[tuple[str, str]], int] | None:
    """Return who judges in a folder, as `who_judges` does; None if nobody does.

    Files that tell of no judge are those of nobody whom a plan could name.
    """
    from medeval.inference.guard import IN_PROCESS

    judges, seeds = set(), {-1}
    for path in [*folder.glob("judge.json"), *folder.glob("judge-*.json")]:
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))["settings"]
            endpoint, seed = settings["endpoint"], settings["judging"]["fence_seed"]
            judges.add((settings["model"], "" if endpoint == IN_PROCESS else endpoint))
            seeds.add(seed)
        except (OSError, ValueError, TypeError, KeyError):
            continue  # the report of an audit, or what somebody else keeps there
    if judges or any(folder.glob("judgments*.jsonl")):
        return frozenset(judges), max(seeds)
    return None


def checked_plan(**fields: Any) -> JudgingPlan:
    """Return a plan whose choices can be meant.

    Raises:
        UserError: naming the one that cannot.
    """
    try:
        return JudgingPlan(**fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise UserError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
