"""What `run` says of a context whose length nobody has stated."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from medeval.tasks.task_run import Asking


def tell_default_limit(asking: Asking) -> None:
    """Say that the length of a model's context is only supposed, if the task minds it.

    Built-in models take whatever they are given.
    """
    from medeval.inference.openai_model import OpenAIModel
    from medeval.inference.python_model import PythonModel

    if not isinstance(asking.provider, OpenAIModel | PythonModel):
        return
    for settings in asking.task.settings().values():
        context = settings.get("context") if isinstance(settings, Mapping) else None
        if isinstance(context, Mapping) and context.get("limit_from") == "default":
            print(
                f"medeval: nobody says how much {asking.provider.model} takes in; longer than"
                f" {context['limit']:,} tokens is shortened. Say it with --context-limit.",
                file=sys.stderr,
            )
