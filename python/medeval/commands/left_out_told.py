"""What `run` says of records that it asks nothing about."""

from __future__ import annotations

import sys

from medeval.tasks.task import AskedTask


def tell_left_out(task: AskedTask) -> None:
    """Say how many records of a task's files are left out, if it is a task that leaves any out."""
    for sentence in getattr(task, "left_out", ()):
        print(f"medeval: {sentence}", file=sys.stderr)
