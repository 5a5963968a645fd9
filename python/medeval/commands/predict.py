"""The command `predict`."""

from __future__ import annotations

from typing import Any

from medeval.commands.options import flags_in, with_options
from medeval.errors import UserError
from medeval.tasks import registry


def _predict(**given: Any) -> None:
    """Train a baseline on the warehouse's features and predict the test rows of an ICU task."""
    name = registry.canonical_name(given.pop("task"))
    kind, model = registry.task_class(name), given.pop("model")
    if not kind.BASELINES:
        can = [one.name for one in registry.classes() if one.BASELINES]
        raise UserError(f"{name} has no baseline. Tasks with one: {', '.join(can)}.")
    if model not in kind.BASELINES:
        raise UserError(f"Unknown model {model!r}. Models: {', '.join(kind.BASELINES)}.")
    print(kind.predict(name, model, **given))


predict = with_options(_predict, flags_in("predict_flags.toml"))
