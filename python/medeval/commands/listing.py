"""The commands `tasks` and `models`: what there is to ask, and whom."""

from __future__ import annotations

from medeval.commands.shared_options import ENDPOINTS, Endpoints


def tasks() -> None:
    """List the tasks, with what each is scored by."""
    from rich.table import Table

    from medeval.evaluation.task_registry import TaskRegistry
    from medeval.tasks.catalogue import BUILT_IN
    from medeval.tasks.mimic3.task import TASKS
    from medeval.terminal import Terminal

    table = Table(title="tasks")
    for name in ("task", "answered by", "scored by", "items"):
        table.add_column(name, justify="right" if name == "items" else "left", overflow="fold")
    for task in TASKS:
        table.add_row(f"{task.name} ({task.short})", "predict, or a prediction file", "", "")
    for name, scored_by in BUILT_IN.items():
        table.add_row(name, "run", scored_by, "")
    table.add_section()
    for summary in TaskRegistry().list_available():
        table.add_row(
            summary.task_id, "run", ", ".join(summary.metrics), f"{summary.num_examples:,}"
        )
    Terminal().print(table)
    print("A task file of your own is named by its path: `run --task my_task.yaml`.")


def models(
    endpoints: Endpoints = ENDPOINTS,
) -> None:
    """List the models that come along, and the endpoints that are declared."""
    from datetime import UTC, datetime

    from medeval.inference.endpoints import read_endpoints
    from medeval.tasks.mimic3.baseline import MODELS
    from medeval.tasks.task import DEMO
    from medeval.terminal import Terminal, table_of

    rows = [
        (DEMO, "run: rules in this process, no network; shows the way, says nothing more"),
        ("FILE.py:FUNCTION", "run: your function, from the messages to the reply"),
        ("any name", "run: the model of an endpoint, --base-url"),
        *((name, "predict: a baseline of the ICU tasks") for name in MODELS),
    ]
    Terminal().print(table_of("models", ("model", "for"), rows))
    declared = read_endpoints(endpoints)
    if not declared:
        print(f"{endpoints} declares no endpoint: credentialed text stays in this process.")
        return
    today = datetime.now(UTC).date()
    shown = []
    for address, endpoint in declared.items():
        gaps = [] if endpoint.runs_locally else endpoint.gaps(today)
        ground = "local" if endpoint.runs_locally else "attested"
        shown.append((address, f"refused: {', '.join(gaps)}" if gaps else f"may go ({ground})"))
    title = f"endpoints declared in {endpoints}"
    Terminal().print(table_of(title, ("address", "credentialed text"), shown))
