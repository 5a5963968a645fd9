"""The command `doctor`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from medeval.commands.shared_options import ENDPOINTS, AsBuilt, DbtTarget, Endpoints
from medeval.errors import UserError

if TYPE_CHECKING:
    from medeval.tasks.self_check import Check


def doctor(
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="Check a task: gold answers must score the maximum, no answers the minimum, gold"
            " answers of other items like chance. May be repeated; all for every one that comes"
            " along."
        ),
    ] = None,
    target: DbtTarget = None,
    as_built: AsBuilt = False,
    endpoints: Endpoints = ENDPOINTS,
) -> None:
    """Say what is wrong with this set-up, or check how a task is scored; exit code 1 if anything.

    Nothing is sent anywhere.
    """
    if task:
        checks = _task_checks(task, {"as_built": as_built})
    else:
        from medeval.commands.setup_checks import setup_checks

        checks = setup_checks(target, endpoints, as_built)
    if not _shown(checks):
        raise typer.Exit(1)


def _task_checks(names: Iterable[str], options: dict[str, bool]) -> Iterable[Check]:
    from medeval.tasks.catalogue import all_names, begin
    from medeval.tasks.self_check import Check, check_task

    chosen = all_names() if list(names) == ["all"] else list(names)
    for name in chosen:
        try:
            task = begin(name, options)
        except UserError as error:
            if len(chosen) == 1:
                raise
            yield Check(f"{name}: can be asked", False, str(error))
            continue
        for check in check_task(task):
            yield Check(f"{task.name}: {check.name}", check.passed, check.told)


def _shown(checks: Iterable[Check]) -> bool:
    """Print each check as soon as it is made; tell whether all passed."""
    passed = True
    for check in checks:
        print(f"{'ok  ' if check.passed else 'NOT '} {check.name}: {check.told}", flush=True)
        passed = passed and check.passed
    return passed
