"""The project's plugin of dbt, for every engine: what dbt writes shows no data and is private.

dbt imports every module whose name begins with `dbt_` before it opens a database, whatever the
target. Only dbt's first lines in `dbt.log`, its version and settings, are written before that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbt.adapters.factory import FACTORY
from dbt.flags import get_flags
from dbt.plugins.manager import dbtPlugin
from dbt_common.exceptions import DbtRuntimeError

from medeval.engine_errors import kind_of_fault, shown
from medeval.private_files import UMASK, exposed, make_private


class Plugin(dbtPlugin):
    """Sets the umask, closes dbt's folders to others, and filters the errors of the engines."""

    def initialize(self) -> None:
        """Begin, before dbt opens a database; another project of this environment is left alone."""
        if self.project_name != "medeval":
            return
        os.umask(UMASK)
        flags = get_flags()  # type: ignore[no-untyped-call]
        log_folder = getattr(flags, "LOG_PATH", None) or "logs"
        target_folder = getattr(flags, "TARGET_PATH", None) or Path(flags.PROJECT_DIR, "target")
        make_private(exposed(Path(log_folder), "dbt.log*"))
        make_private(exposed(Path(target_folder)))
        for plugin in FACTORY.plugins.values():
            _filter_errors(plugin.adapter.ConnectionManager)


def _filter_errors(manager: Any) -> None:
    """Let every error of a connection pass `shown` before dbt's own handler logs and raises it.

    The words are replaced in the error itself, so that no chain of exceptions shows them either.
    """
    if hasattr(manager, "medeval_filters"):
        return
    handle, execute = manager.exception_handler, manager.execute

    @contextmanager
    def exception_handler(self: Any, sql: str, *arguments: Any) -> Iterator[None]:
        with handle(self, sql, *arguments):
            try:
                yield
            except DbtRuntimeError as error:
                # The adapter has wrapped it: a bare RuntimeError, or what came through here before.
                if type(error.__cause__) is RuntimeError:
                    error.msg = kind_of_fault(error.__cause__)
                    error.__cause__.args = (error.msg,)
                raise
            except Exception as error:
                error.args = (shown(error),)
                raise

    def execute_and_fetch(self: Any, sql: str, *arguments: Any, **settings: Any) -> Any:
        # DuckDB reads the rows of a long answer, and stumbles over them, while they are fetched.
        with self.exception_handler(sql):
            return execute(self, sql, *arguments, **settings)

    manager.exception_handler, manager.execute = exception_handler, execute_and_fetch
    manager.medeval_filters = True


plugins = [Plugin]
