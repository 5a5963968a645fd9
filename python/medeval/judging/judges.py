"""Who judges: a model behind an endpoint, a function, or the rule that is built in."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from medeval.errors import UserError
from medeval.inference.cost import TOKEN_LIMITS
from medeval.inference.guard import DataUseGuard
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.python_model import PythonModel
from medeval.inference.types import Item, Model
from medeval.judging.local_judge import LOCAL, LocalJudge
from medeval.judging.rubric import Rubric, response_format

DEFAULT_JUDGE = "gpt-4o-mini"
OPENAI = "https://api.openai.com/v1"
KEY_VARIABLES = ("JUDGE_API_KEY", "OPENAI_API_KEY")
URL_VARIABLES = ("JUDGE_BASE_URL", "OPENAI_BASE_URL")
REPLY_TOKENS = 1024
REASONING_TOKENS = 4096

# By name, since no endpoint tells: these think before they reply, within the same limit of tokens.
_REASONING = re.compile(
    r"(?:^|[/-])(?:o\d|gpt-5|gpt-oss|qwq|magistral)|deepseek-r|reason|think|[-_]r1\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Judge:
    """One judge.

    Attributes:
        model: as its endpoint calls it; `local` is the rule that is built in.
        name: of its files and rows; made from the model's name if it is not given.
        base_url: of its endpoint; else `JUDGE_BASE_URL`, else `OPENAI_BASE_URL`, else OpenAI.
        key_variable: the environment variable with its key; else `JUDGE_API_KEY`, else
            `OPENAI_API_KEY`.
        needs_key: False for an endpoint without keys.
        parameters: put over the usual ones; one that is None is left out.
        is_structured: the form of the verdict is asked for by a JSON schema, where the endpoint
            takes one.
        is_reasoning: it thinks before it replies; None to tell by its name.
        timeout: seconds for one call.
        function: judges in this process instead of an endpoint.
    """

    model: str = DEFAULT_JUDGE
    name: str = ""
    base_url: str | None = None
    key_variable: str | None = None
    needs_key: bool = True
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_structured: bool = True
    is_reasoning: bool | None = None
    timeout: float = 300.0
    function: Callable[[Item], str] | None = None

    @property
    def label(self) -> str:
        """The name that files and rows have."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.name or self.model).strip("-.") or "judge"

    @property
    def is_rule(self) -> bool:
        """Tell whether it is the rule that is built in, which needs the reference."""
        return self.function is None and self.model == LOCAL and self.base_url is None

    def endpoint(self, environment: Mapping[str, str]) -> str:
        """Return the address that it is asked at."""
        named = (environment.get(name, "").strip() for name in URL_VARIABLES)
        return self.base_url or next(filter(None, named), OPENAI)

    def key_name(self, environment: Mapping[str, str]) -> str | None:
        """Return the name of the variable with its key; None if it needs none.

        Raises:
            UserError: there is no key.
        """
        if not self.needs_key:
            return None
        if self.key_variable is not None:
            return self.key_variable
        for name in KEY_VARIABLES:
            if environment.get(name, "").strip():
                return name
        raise UserError(
            f"There is no key for the judge {self.label}. Put it into the environment variable"
            f" {' or '.join(KEY_VARIABLES)}. For an endpoint without keys say"
            " `--judge-key-variable none` (in Python `needs_key=False`); `run --no-judge` leaves"
            " judging to later. Nothing was sent."
        )

    def all_parameters(self, rubric: Rubric) -> dict[str, Any]:
        """Return what is asked for, before an endpoint refuses some of it."""
        thinks = self.is_reasoning
        if thinks is None:
            thinks = _REASONING.search(self.model) is not None
        usual: dict[str, Any] = {"temperature": 0}
        if not any(name in self.parameters for name in TOKEN_LIMITS):
            usual["max_completion_tokens"] = REASONING_TOKENS if thinks else REPLY_TOKENS
        if self.is_structured:
            usual["response_format"] = response_format(rubric)
        asked = {**usual, **self.parameters}
        return {name: value for name, value in asked.items() if value is not None}

    def provider(self, rubric: Rubric, gate: DataUseGuard) -> Model:
        """Return what the runner asks.

        Raises:
            UserError: the address or the parameters cannot be meant, or there is no key.
        """
        if self.function is not None:
            if self.model == LOCAL:
                raise UserError(
                    f"{LOCAL!r} is the rule that is built in. Give the function a name."
                )
            return PythonModel(
                self.function, self.model, gate, purpose="judgment", timeout=self.timeout
            )
        if self.is_rule:
            return PythonModel(LocalJudge(rubric), LOCAL, gate, purpose="judgment")
        return OpenAIModel(
            self.endpoint(os.environ),
            self.model,
            gate,
            parameters=self.all_parameters(rubric),
            key_variable=self.key_name(os.environ),
            timeout=self.timeout,
            purpose="judgment",
        )


def checked_jury(judges: Sequence[Judge]) -> list[Judge]:
    """Return the judges; of one model at several addresses each gets a name with its address.

    Raises:
        UserError: there is none, or two have one name all the same.
    """
    if not judges:
        raise UserError("There is no judge. Name at least one.")
    told_apart = list(judges)
    for address_in in (_host, _whole_address):
        alike = _counted(told_apart)
        told_apart = [
            replace(judge, name=f"{judge.model}@{address_in(judge)}")
            if alike[now.label.lower()] > 1 and not (judge.name or judge.function or judge.is_rule)
            else now
            for judge, now in zip(judges, told_apart, strict=True)
        ]
    twice = next((label for label, count in _counted(told_apart).items() if count > 1), None)
    if twice is not None:
        raise UserError(
            f"Two judges are called {twice!r}. Leave one of them away, or give it another name or"
            " address."
        )
    return told_apart


def _counted(judges: Iterable[Judge]) -> Counter[str]:
    return Counter(judge.label.lower() for judge in judges)


def _host(judge: Judge) -> str:
    return urlsplit(judge.endpoint(os.environ)).netloc.rpartition("@")[2]


def _whole_address(judge: Judge) -> str:
    return judge.endpoint(os.environ).partition("://")[2].rpartition("@")[2]


def related(judge: str, answering_model: str) -> bool:
    """Tell whether two models share the beginning of their names, as those of one house do."""
    family = _family(judge)
    return bool(family) and family == _family(answering_model)


def warnings_of_kinship(judges: Iterable[Judge], answering_model: str) -> list[str]:
    """Return a warning for each judge that may prefer answers of its own kind."""
    return [
        f"The judge {judge.label} and the model {answering_model} share a name: judges tend to"
        " prefer answers of their own kind. Add a judge of another house."
        for judge in judges
        if not judge.is_rule and related(judge.model, answering_model)
    ]


def _family(model: str) -> str:
    found = re.match(r"[^\W\d_]+", model.rpartition("/")[2].lower())
    return found[0] if found else ""
