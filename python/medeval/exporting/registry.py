"""The floors that can be exported. A new benchmark adds its `Floor` here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable

from medeval.errors import UserError
from medeval.exporting import cdm, mimic3, mtsamples, yier
from medeval.exporting.floor import Floor

FLOORS: dict[str, Floor] = {
    floor.name: floor for floor in (cdm.FLOOR, mimic3.FLOOR, mtsamples.FLOOR, yier.FLOOR)
}


def chosen_tasks(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the tasks of each floor that the names of `--task` mean, in the floors' own order.

    Raises:
        UserError: a name that no floor has.
    """
    known: dict[str, tuple[str, set[str]]] = {}
    for floor in FLOORS.values():
        known[floor.name] = (floor.name, set(floor.tasks))
        known |= {task: (floor.name, {task}) for task in floor.tasks}
        known |= {alias: (floor.name, {task}) for alias, task in floor.aliases.items()}
    chosen: dict[str, set[str]] = {}
    for name in names:
        key = name.strip().lower().replace("-", "_")
        if key not in known:
            raise UserError(f"Unknown task {name!r}. Tasks: {', '.join(known)}.")
        floor_name, tasks = known[key]
        chosen.setdefault(floor_name, set()).update(tasks)
    return {
        floor.name: tuple(task for task in floor.tasks if task in chosen[floor.name])
        for floor in FLOORS.values()
        if floor.name in chosen
    }
