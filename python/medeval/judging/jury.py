"""Who judges: a model behind an endpoint, a function, or the rule that is built in; and how."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from medeval.errors import UserError, faults_of
from medeval.inference.guard import DataUseGuard, is_loopback
from medeval.inference.types import Model, Sample
from medeval.judging.rubric import Rubric

LOCAL = "local"
# Beside the files of judges, and none of them.
AUDIT_REPORT = "judge-audit.json"
DEFAULT_JUDGE = "gpt-4o-mini"
OPENAI = "https://api.openai.com/v1"
KEY_VARIABLE = "JUDGE_API_KEY"
KEY_VARIABLES = (KEY_VARIABLE, "OPENAI_API_KEY")
URL_VARIABLES = ("JUDGE_BASE_URL", "OPENAI_BASE_URL")
NO_KEY = "none"

# By name, since no endpoint tells: these think before they reply, within the same limit of tokens.
_REASONING = re.compile(
    r"(?:^|[/-])(?:o\d|gpt-5|gpt-oss|qwq|magistral)|deepseek-r|reason|think|[-_]r1\b", re.IGNORECASE
)
_NOT_RECORDED = Field(exclude=True)

Pooling = Literal["mean", "median", "trimmed_mean"]


@dataclass(frozen=True, config=ConfigDict(extra="forbid", arbitrary_types_allowed=True))
class Judge:
    """One judge. A record keeps the first three, and never a key; the others are this process's.

    Attributes:
        model: as its endpoint calls it; `local` is the rule that is built in.
        base_url: of its endpoint; else `JUDGE_BASE_URL`, else `OPENAI_BASE_URL`, else OpenAI.
        key_variable: the environment variable with its key; `none` for an endpoint without keys.
            Else `JUDGE_API_KEY`; else none for an endpoint on this machine, for others
            `OPENAI_API_KEY`.
        name: of its files and rows; made from the model's name if it is not given.
        timeout: seconds for one call.
        function: judges in this process instead of an endpoint; takes an item, returns a text.
    """

    model: Annotated[str, Field(min_length=1)] = DEFAULT_JUDGE
    base_url: str | None = None
    key_variable: str | None = None
    name: Annotated[str, _NOT_RECORDED] = ""
    timeout: Annotated[float, _NOT_RECORDED] = 300.0
    function: Annotated[Callable[..., str] | None, _NOT_RECORDED] = None

    @property
    def label(self) -> str:
        """The name that files and rows have."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.name or self.model).strip("-.") or "judge"

    @property
    def is_rule(self) -> bool:
        """Tell whether it is the rule that is built in, which needs the reference."""
        return self.function is None and self.model == LOCAL and self.base_url is None

    @property
    def endpoint(self) -> str:
        """The address that it is asked at, by the environment of now if it names none."""
        named = (os.environ.get(name, "").strip() for name in URL_VARIABLES)
        return self.base_url or next(filter(None, named), OPENAI)

    def key_name(self) -> str | None:
        """Return the name of the variable with its key; None if it needs none.

        Raises:
            UserError: there is no key.
        """
        if self.key_variable is not None:
            return None if self.key_variable == NO_KEY else self.key_variable
        known = [name for name in KEY_VARIABLES if os.environ.get(name, "").strip()]
        if KEY_VARIABLE not in known and self.base_url is not None and is_loopback(self.base_url):
            return None
        if not known:
            raise UserError(
                f"There is no key for the judge {self.label}. Put it into the environment variable"
                f" {' or '.join(KEY_VARIABLES)}. For an endpoint without keys say"
                ' `--judge-key-variable none` (in Python `key_variable="none"`); `run --no-judge`'
                " leaves judging to later. Nothing was sent."
            )
        return known[0]

    def provider(self, rubric: Rubric, gate: DataUseGuard) -> Model:
        """Return what the runner asks.

        Raises:
            UserError: the address cannot be meant, or there is no key.
        """
        from medeval.inference.openai_model import OpenAIModel
        from medeval.inference.python_model import PythonModel

        if self.function is not None and self.model == LOCAL:
            raise UserError(f"{LOCAL!r} is the rule that is built in. Give the function a name.")
        function = partial(rule_reply, rubric) if self.is_rule else self.function
        if function is not None:
            return PythonModel(function, self.model, gate, purpose="judgment", timeout=self.timeout)
        tokens = 4096 if _REASONING.search(self.model) else 1024
        asked = {"temperature": 0, "max_completion_tokens": tokens}
        return OpenAIModel(
            self.endpoint,
            self.model,
            gate,
            parameters={**asked, "response_format": rubric.response_format()},
            key_variable=self.key_name(),
            timeout=self.timeout,
            purpose="judgment",
        )


def rule_scores(rubric: Rubric, reference: str, answer: str) -> dict[str, float | None]:
    """Return the scores of the judge that is a rule: how far words of answer and reference overlap.

    It costs nothing, sends nothing and always says the same, so it shows that a set-up works before
    a model is paid. It knows no medicine; its scores are no result.

    Args:
        rubric: each dimension names the kind of overlap that it is graded by.
        reference: without it there are no scores.
        answer: that is judged.
    """
    from medeval.metrics.matching import tokens

    wanted, given = Counter(tokens(reference)), Counter(tokens(answer))
    if not wanted:
        return dict.fromkeys(rubric.names)
    sizes: dict[str, float] = {"precision": given.total() or 1, "recall": wanted.total()}
    sizes["f1"] = (given.total() + wanted.total()) / 2
    low, common = rubric.low, (wanted & given).total()
    # Half up, so that the scale has no gap at its middle.
    return {
        each.name: low + int((rubric.high - low) * (common / sizes[each.overlap]) + 0.5)
        for each in rubric.dimensions
    }


def rule_reply(rubric: Rubric, item: Sample) -> str:
    """Return the rule's reply to a prompt."""
    from medeval.judging.prompt import blocks_in, marker_in

    blocks = blocks_in(item.messages)
    scores = rule_scores(rubric, blocks.get("reference", ""), blocks["answer"])
    verdict = {
        each.name: {"explanation": f"{each.overlap} of words", "score": scores[each.name]}
        for each in rubric.dimensions
    }
    return f"{marker_in(item.messages)}\n{json.dumps(verdict)}"


class Jury(BaseModel, extra="forbid", frozen=True):
    """Who judges, and how: what the record of a run keeps of each judging.

    Attributes:
        judges: one, or a jury.
        pooling: how a jury's rewards become one.
        repeats: judgments of each answer by each judge.
        re_asks: how often an unusable or incomplete verdict is asked for again.
        seed: of the fences around the material, and of the intervals.
        folder: below the run's, where the judgments are; `.` is the run's own.
        rubric: what is graded, if it is not the task's own rubric; a record keeps it whole, so that
            it is the same wherever the run goes and whatever becomes of its file.
    """

    judges: tuple[Judge, ...]
    pooling: Pooling = "mean"
    repeats: Annotated[int, Field(ge=1)] = 1
    re_asks: Annotated[int, Field(ge=0, le=9)] = 1
    seed: Annotated[int, Field(ge=0)] = 0
    folder: Annotated[str, Field(pattern=r"^(\.|judging-[0-9]+)$")] = "."
    rubric: Annotated[Rubric | None, Field(exclude_if=lambda rubric: rubric is None)] = None

    @property
    def seated(self) -> list[Judge]:
        """The judges; of one model at several addresses each has a name with its address.

        Raises:
            UserError: there is none, or two have one name all the same.
        """
        if not self.judges:
            raise UserError("There is no judge. Name at least one.")
        seated = list(self.judges)
        for address in (lambda url: urlsplit(url).netloc, lambda url: url.partition("://")[2]):
            alike = Counter(judge.label.lower() for judge in seated)
            for place, judge in enumerate(self.judges):
                is_plain = not (judge.name or judge.function or judge.is_rule)
                if is_plain and alike[seated[place].label.lower()] > 1:
                    # Where it is asked, without names and keys.
                    told = address(judge.endpoint).split("@")[-1]
                    seated[place] = replace(judge, name=f"{judge.model}@{told}")
        (twice, count), *_ = Counter(judge.label.lower() for judge in seated).most_common(1)
        if count > 1:
            raise UserError(
                f"Two judges are called {twice!r}. Leave one of them away, or give it another name"
                " or address."
            )
        return seated

    def changed(self, **fields: Any) -> Jury:
        """Return the same with other fields; the folder may be any.

        Raises:
            UserError: naming a choice that cannot be meant.
        """
        try:
            made = Jury.model_validate({**dict(self), **fields, "folder": "."})
        except ValidationError as error:
            raise UserError(f"{faults_of(error)}.") from None
        return made.model_copy(update={"folder": fields.get("folder", self.folder)})

    def who_judges(self) -> tuple[Any, ...]:
        """Return what the calls depend on: the judges, in whatever order, rubric and seed."""
        judges = frozenset((one.model, one.base_url or "") for one in self.judges)
        return judges, self.rubric.sha256 if self.rubric else "", self.seed

    def same_judging(self) -> tuple[Any, ...]:
        """Return what two runs must have in common for their rewards to be compared."""
        return (*self.who_judges(), self.pooling if len(self.judges) > 1 else "", self.repeats)


def jury_of(
    models: Sequence[str],
    base_urls: Sequence[str] = (),
    key_variable: str | None = None,
    **choices: Any,
) -> Jury:
    """Return a jury: judges by their models, with one address for all of them or one for each.

    The address is that of now: a judging that goes on later asks at the same one, whatever the
    environment says then.

    Args:
        models: as their endpoints call them.
        base_urls: none, one, or one for each.
        key_variable: of all that have an address.
        choices: other fields of a `Jury`.

    Raises:
        UserError: addresses that cannot be given to the judges, or a choice that cannot be meant.
    """
    if len(base_urls) not in (0, 1, len(models)):
        raise UserError(
            f"There are {len(models)} judges and {len(base_urls)} addresses. Give one address for"
            " all of them, or one for each."
        )
    urls = base_urls if len(base_urls) > 1 else [*base_urls, None][:1] * len(models)
    judges: list[dict[str, str | None]] = []
    for model, url in zip(models, urls, strict=True):
        is_rule = model == LOCAL and url is None
        address = Judge(base_url=url).endpoint
        about = {} if is_rule else {"base_url": address, "key_variable": key_variable}
        judges.append({"model": model, **about})
    return Jury(judges=()).changed(judges=judges, **choices)


def warnings_of_kinship(judges: Sequence[Judge], answering_model: str) -> list[str]:
    """Return a warning for each judge that may prefer answers of its own kind.

    Models of one house share the beginning of their names.
    """

    def house(model: str) -> str:
        return re.split(r"[\W\d_]", model.rpartition("/")[2].lower(), maxsplit=1)[0]

    return [
        f"The judge {judge.label} and the model {answering_model} share a name: judges tend to"
        " prefer answers of their own kind. Add a judge of another house."
        for judge in judges
        if house(answering_model) == house(judge.model) != "" and not judge.is_rule
    ]
