"""The commands `tasks` and `models`: what there is to evaluate, and by whom."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from medeval.commands.options import flags_in, with_options

Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]


def tasks(as_json: Json = False) -> None:
    """List the tasks, with what each is scored by."""
    from medeval.evaluation.task_registry import TaskRegistry
    from medeval.tasks import registry
    from medeval.terminal import Terminal, print_json, table_of

    found: list[dict[str, Any]] = []
    for name in registry.names():
        task = registry.task_class(name)
        aliases = [alias for alias, own in registry.ALIASES.items() if own == name]
        found.append(
            {
                "task": name,
                "aliases": aliases,
                "answered_by": task.answered_by,
                "scored_by": task.scored_by,
                "items": None,
            }
        )
    for one in TaskRegistry().list_available():
        by = ", ".join(one.metrics)
        own = {"task": one.task_id, "aliases": [], "answered_by": "run", "scored_by": by}
        found.append({**own, "items": one.num_examples})
    if as_json:
        print_json(found)
        return
    rows = [
        (
            ", ".join([str(one["task"]), *one["aliases"]]),
            str(one["answered_by"]),
            str(one["scored_by"]),
            "" if one["items"] is None else f"{one['items']:,}",
        )
        for one in found
    ]
    Terminal().print(table_of("tasks", ("task", "answered by", "scored by", "items"), rows))
    print("A task file of your own is named by its path: `run --task my_task.yaml`.")


def _models(**given: Any) -> None:
    """List the models that come along, and the endpoints that are declared."""
    from datetime import UTC, datetime

    from medeval.inference.guard import read_endpoints
    from medeval.tasks import registry
    from medeval.tasks.task import DEMO
    from medeval.terminal import Terminal, print_json, table_of

    endpoints, as_json = given["endpoints"], given["json"]
    baselines = {name: None for task in registry.classes() for name in task.BASELINES}
    rows = [
        (DEMO, "run: rules in this process, no network; shows the way, says nothing more"),
        ("FILE.py:FUNCTION", "run: your function, from the messages to the reply"),
        ("any name", "run: the model of an endpoint, --base-url"),
        *((name, "predict: a baseline of the ICU tasks") for name in baselines),
    ]
    declared, today = read_endpoints(endpoints), datetime.now(UTC).date()
    states = []
    for address, endpoint in declared.items():
        gaps = [] if endpoint.runs_locally else endpoint.gaps(today)
        ground = "local" if endpoint.runs_locally else "attested"
        states.append((address, f"refused: {', '.join(gaps)}" if gaps else f"may go ({ground})"))
    if as_json:
        print_json(
            {
                "models": [{"model": model, "for": use} for model, use in rows],
                "endpoints": [{"address": at, "credentialed_text": may} for at, may in states],
            }
        )
        return
    Terminal().print(table_of("models", ("model", "for"), rows))
    if not states:
        print(f"{endpoints} declares no endpoint: credentialed text stays in this process.")
        return
    title = f"endpoints declared in {endpoints}"
    Terminal().print(table_of(title, ("address", "credentialed text"), states))


models = with_options(_models, flags_in("models_flags.toml"))
