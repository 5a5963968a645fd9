"""Tasks for inspect_ai: `inspect eval medeval/yier --model openai/gpt-4o`, and so on.

The model is inspect's own, and so are its log and its cache. Prompts, rounds, reading of replies
and scores are ours: the metrics are those of `medeval score` on the same replies. Credentialed text
goes to a model only if endpoints.toml declares its endpoint, and is in no dataset.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import (
    GenerateConfig,
    ModelOutput,
    get_model,
    messages_from_openai,
    messages_to_openai,
)
from inspect_ai.model import Model as InspectModel
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolInfo

from medeval.adapters.replay import asked, score_lines
from medeval.inference.guard import IN_PROCESS, DataUseGuard, normalized, read_endpoints
from medeval.inference.openai_model import ParameterFallbacks
from medeval.inference.types import Reply, Request, Sample, ToolCall, Usage, body_of
from medeval.tasks import registry
from medeval.tasks.task import AskedTask

# One line a request with credentialed text, as runs of ours have it.
AUDIT_FILE = Path("runs") / "inspect-audit.jsonl"
_WITHHELD = "(credentialed text: it is in no dataset)"
_LINE = "medeval_line"
# What inspect calls them, and what endpoints do.
_REASONS = {"stop": "stop", "max_tokens": "length", "content_filter": "content_filter"}


class _Model:
    """The model that inspect evaluates, as our engine asks it."""

    def __init__(self, model: InspectModel, guard: DataUseGuard) -> None:
        base_url = getattr(model.api, "base_url", None)
        self.address = normalized(str(base_url)) if base_url else str(model)
        self.model = str(model)
        self.parameters: Mapping[str, Any] = {}
        self.fallbacks = ParameterFallbacks()
        self._inspected, self._guard = model, guard
        self._loop = asyncio.get_running_loop()

    async def ask(self, request: Request) -> Reply:
        """Ask within inspect's own event loop."""
        if not request.item.is_open:
            AUDIT_FILE.parent.mkdir(mode=0o700, exist_ok=True)
            self._guard.authorize(request, json.dumps(body_of(request, {})).encode(), "answer")
        asked = asyncio.run_coroutine_threadsafe(self._generate(request), self._loop)
        return await asyncio.wrap_future(asked)

    async def close(self) -> None:
        """Nothing was opened."""

    async def _generate(self, request: Request) -> Reply:
        parameters = request.all_parameters
        tools = [ToolInfo.model_validate(one["function"]) for one in parameters.get("tools", ())]
        form = parameters.get("response_format", {}).get("json_schema")
        config = GenerateConfig()
        if form is not None:
            schema = {"name": form["name"], "json_schema": form["schema"]}
            config = GenerateConfig.model_validate({"response_schema": schema})
        messages: Any = [dict(one) for one in request.item.messages]
        output = await self._inspected.generate(
            await messages_from_openai(messages), tools=tools, config=config
        )
        return await _completion(output)


async def _completion(output: ModelOutput) -> Reply:
    message, usage = output.message, output.usage
    (as_sent,) = await messages_to_openai([message])
    counts = Usage()
    if usage is not None:
        counts = Usage(
            usage.input_tokens,
            usage.input_tokens_cache_read,
            usage.output_tokens,
            usage.reasoning_tokens,
        )
    calls = tuple(
        ToolCall(one.id, one.function, json.dumps(one.arguments, ensure_ascii=False))
        for one in message.tool_calls or ()
    )
    reason = "tool_calls" if calls else _REASONS.get(output.stop_reason, output.stop_reason)
    return Reply(
        message.text,
        finish_reason=reason,
        model=output.model,
        usage=counts,
        tool_calls=calls,
        message=dict(as_sent) if calls else None,
    )


def _task(name: str, kind: type[AskedTask]) -> Callable[..., Task]:
    """Return a task as inspect knows it, with the options of ours as its parameters."""

    def make(
        endpoints: str = "endpoints.toml", judge: str = "", named: str = name, **options: Any
    ) -> Task:
        given = {key: value for key, value in options.items() if value is not None}
        own = registry.start(named, given)
        guard = DataUseGuard(read_endpoints(Path(endpoints)), AUDIT_FILE)
        return Task(
            dataset=MemoryDataset([_sample(item) for item in own.items()], name=own.name),
            solver=_played(own, guard),
            scorer=_scored(own, [judge] if judge else [], Path(endpoints)),
            name=own.name,
            version=own.prompt_version,
        )

    parameters = [
        inspect.Parameter("endpoints", inspect.Parameter.KEYWORD_ONLY, default="endpoints.toml"),
        inspect.Parameter("judge", inspect.Parameter.KEYWORD_ONLY, default=""),
        *(
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=None)
            for option in kind.Options.model_fields
        ),
    ]
    if name == "task_file":
        parameters.append(inspect.Parameter("named", inspect.Parameter.KEYWORD_ONLY))
    make.__name__ = name
    make.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return task(make)


def _sample(item: Sample) -> InspectSample:
    text = json.dumps(list(item.messages), ensure_ascii=False)
    return InspectSample(
        id=f"{item.id}#{item.sample}",
        input=text if item.is_open else _WITHHELD,
        metadata={"item": item.id, "sample": item.sample},
    )


@solver
def _played(own: AskedTask, guard: DataUseGuard) -> Solver:
    samples = {_sample(item).id: one for item, one in zip(own.items(), own.samples(), strict=True)}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = _Model(get_model(), guard)
        sample = samples[str(state.sample_id)]
        (line,) = await anyio.to_thread.run_sync(asked, own, model, [sample])
        state.output = ModelOutput.from_content(str(get_model()), line.get("text", ""))
        state.store.set(_LINE, line)
        return state

    return solve


@metric
def _ours(own: AskedTask, judges: list[str], endpoints: Path) -> Metric:
    def compute(scores: list[SampleScore]) -> dict[str, float]:
        if not scores:
            return {}
        lines = [(one.score.metadata or {})[_LINE] for one in scores]
        model = _Answered()
        found = score_lines(own, model, lines, judges, endpoints).result
        return dict(found.metrics_results)

    return compute


class _Answered(_Model):
    """The model of answers that are there."""

    def __init__(self) -> None:
        self.address, self.model = IN_PROCESS, "inspect"
        self.parameters, self.fallbacks = {}, ParameterFallbacks()


def _scored(own: AskedTask, judges: list[str], endpoints: Path) -> Scorer:
    @scorer(metrics=[_ours(own, judges, endpoints)], name=own.name)
    def ours() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            line = state.store.get(_LINE)
            is_read = line["outcome"] == "answered"
            return Score(value=is_read, answer=line.get("text", ""), metadata={_LINE: line})

        return score

    return ours()


for _name in registry.names():
    _kind = registry.task_class(_name)
    if issubclass(_kind, AskedTask):
        globals()[_name] = _task(_name, _kind)
_files = registry.task_class("task_file")
if issubclass(_files, AskedTask):
    task_file = _task("task_file", _files)
