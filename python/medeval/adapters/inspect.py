"""Tasks for inspect_ai: `inspect eval medeval/yier --model openai/gpt-4o`, and so on.

The model is inspect's own, and so are its log and its cache. Prompts, rounds, reading of replies
and scores are ours: the metrics are those of `medeval score` on the same replies. Credentialed text
goes to a model only if endpoints.toml declares its endpoint, and is in no dataset.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import Task, model, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolInfo

from medeval.adapters import asked, metrics_of
from medeval.inference.guard import DataUseGuard, normalized, read_endpoints
from medeval.inference.types import Model, Reply, Request, Sample, ToolCall, Usage, body_of
from medeval.tasks import registry
from medeval.tasks.task import AskedTask

# One line a request with credentialed text, as runs of ours have it.
AUDIT_FILE = Path("runs") / "inspect-audit.jsonl"
_WITHHELD = "(credentialed text: it is in no dataset)"
_LINE = "medeval_line"
# What inspect calls them, and what endpoints do.
_REASONS = {"stop": "stop", "max_tokens": "length", "content_filter": "content_filter"}


class _Model(Model):
    """The model that inspect evaluates, as our engine asks it."""

    def __init__(self, inspected: model.Model, guard: DataUseGuard) -> None:
        base_url = getattr(inspected.api, "base_url", None)
        self.address = normalized(str(base_url)) if base_url else str(inspected)
        self.model = str(inspected)
        self._inspected, self._guard = inspected, guard
        self._loop = asyncio.get_running_loop()

    async def ask(self, request: Request) -> Reply:
        """Ask within inspect's own event loop."""
        if not request.item.is_open:
            AUDIT_FILE.parent.mkdir(mode=0o700, exist_ok=True)
            self._guard.authorize(request, json.dumps(body_of(request, {})).encode(), "answer")
        asked = asyncio.run_coroutine_threadsafe(self._generate(request), self._loop)
        return await asyncio.wrap_future(asked)

    async def _generate(self, request: Request) -> Reply:
        parameters = request.all_parameters
        tools = [ToolInfo.model_validate(one["function"]) for one in parameters.get("tools", ())]
        config = model.GenerateConfig()
        if form := parameters.get("response_format", {}).get("json_schema"):
            schema = {"name": form["name"], "json_schema": form["schema"]}
            config = model.GenerateConfig.model_validate({"response_schema": schema})
        sent: Any = [dict(one) for one in request.item.messages]
        messages = await model.messages_from_openai(sent)
        output = await self._inspected.generate(messages, tools=tools, config=config)
        message, counts = output.message, output.usage or model.ModelUsage()
        (as_sent,) = await model.messages_to_openai([message])
        usage = Usage(
            counts.input_tokens,
            counts.input_tokens_cache_read,
            counts.output_tokens,
            counts.reasoning_tokens,
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
            usage=usage if output.usage else Usage(),
            tool_calls=calls,
            message=dict(as_sent) if calls else None,
        )


def _task(name: str, kind: type[AskedTask]) -> Callable[..., Task]:
    """Return a task as inspect knows it, with the options of ours as its parameters."""

    def make(**options: Any) -> Task:
        given = {key: value for key, value in options.items() if value is not None}
        endpoints, judge = Path(given.pop("endpoints", "endpoints.toml")), given.pop("judge", "")
        own = registry.start(given.pop("named", name), given)
        return Task(
            dataset=MemoryDataset([_sample(item) for item in own.items()], name=own.name),
            solver=_played(own, DataUseGuard(read_endpoints(endpoints), AUDIT_FILE)),
            scorer=_scored(own, [judge] if judge else [], endpoints),
            name=own.name,
            version=own.prompt_version,
        )

    names = ["endpoints", "judge", *kind.Options.model_fields]
    parameters = [Parameter(one, Parameter.KEYWORD_ONLY, default=None) for one in names]
    if name == "task_file":
        parameters.append(Parameter("named", Parameter.KEYWORD_ONLY))
    make.__name__ = name
    make.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return task(make)


def _sample(item: Sample) -> InspectSample:
    text = json.dumps(list(item.messages), ensure_ascii=False)
    about = {"item": item.id, "sample": item.sample}
    shown = text if item.is_open else _WITHHELD
    return InspectSample(id=f"{item.id}#{item.sample}", input=shown, metadata=about)


@solver
def _played(own: AskedTask, guard: DataUseGuard) -> Solver:
    samples = {_sample(item).id: one for item, one in zip(own.items(), own.samples(), strict=True)}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        inspected = model.get_model()
        given = [samples[str(state.sample_id)]]
        (line,) = await anyio.to_thread.run_sync(asked, own, _Model(inspected, guard), given)
        state.output = model.ModelOutput.from_content(str(inspected), line.get("text", ""))
        state.store.set(_LINE, line)
        return state

    return solve


def _scored(own: AskedTask, judges: list[str], endpoints: Path) -> Scorer:
    @metric
    def metrics() -> Metric:
        def compute(scores: list[SampleScore]) -> dict[str, float]:
            lines = [(one.score.metadata or {})[_LINE] for one in scores]
            return metrics_of(own, lines, judges, endpoints) if lines else {}

        return compute

    @scorer(metrics=[metrics()], name=own.name)
    def ours() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            line = state.store.get(_LINE)
            is_read = line["outcome"] == "answered"
            return Score(value=is_read, answer=line.get("text", ""), metadata={_LINE: line})

        return score

    return ours()


for _name in (*registry.names(), "task_file"):
    _kind = registry.task_class(_name)
    if issubclass(_kind, AskedTask):
        globals()[_name] = _task(_name, _kind)
