"""dbt and medeval, command after command, in a process that keeps its session of Spark.

A new session costs a JVM, which compiles itself, and a catalogue: a third of a minute each time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence

from command_server import CommandServer


def spark_process() -> CommandServer:
    """Return the process. The first word of its commands is `dbt` or `medeval`."""
    return CommandServer(__file__)


def _run(words: Sequence[str]) -> int:
    """Run a command, and return its exit code."""
    from dbt.cli.main import dbtRunner

    from medeval import cli

    if words[0] == "dbt":
        done = dbtRunner().invoke([*words[1:]])
        return 0 if done.success else 1 if done.exception is None else 2
    sys.argv = [*words]
    try:
        cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _serve() -> None:
    """Run what is asked on standard input; standard output is for exit codes."""
    answers = os.dup(1)
    for line in sys.stdin:
        asked = json.loads(line)
        for number, name in enumerate(asked["files"], 1):
            opened = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
            os.dup2(opened, number)
            os.close(opened)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        before = time.process_time()
        code = _run(asked["command"])
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(answers, f"{code} {time.process_time() - before}\n".encode())


if __name__ == "__main__":
    _serve()
