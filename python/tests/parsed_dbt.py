"""dbt in forks of a process that has the project parsed, which saves a quarter of a minute each.

A run has its own process, folder, environment and exit code. The project is parsed anew for each
target, set of variables and value of an environment variable that is read while dbt parses. What
only the SQL of models reads, each run compiles with its own values.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from command_server import CommandServer, wait_for_a_command
from commands import PROJECT_ROOT, parse_options, places_of

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

# What dbt_project.yml and the sources read of the environment; profiles.yml is read by each run.
_PARSED = ("MEDEVAL_UNIT_TESTS", "MEDEVAL_SCHEMA_PREFIX")
# A parsed project has some hundred MB.
_MOST = 4
# Its value is a path, which matters to no reference between models; that there is one does.
_PATH = "cdm_cohort_file"
# Variables that decide no reference between models; tests of dbt have their severity by one.
_OF_MODELS = {"cdm_rules", "cdm_extract_source", "pelvis_as_abdomen", "mtsamples_truncation"}
_servers: dict[str, CommandServer] = {}


def run_parsed(
    *args: str,
    target: str,
    env: Mapping[str, str],
    folder: Path,
    project: Path = PROJECT_ROOT,
) -> subprocess.CompletedProcess[str]:
    """Run `dbt` from a project's root, as `run_dbt` does; `--vars` has an argument of its own.

    The project has its unit tests unless `env` says otherwise: then all runs have one parse.
    """
    env = {"MEDEVAL_UNIT_TESTS": "1", **env}
    variables = args[args.index("--vars") + 1] if "--vars" in args else "{}"
    parsed = {name: env[name] for name in _PARSED if name in env}
    later = _OF_MODELS if "--resource-type" in args else set()
    read = {name: its for name, its in yaml.safe_load(variables).items() if name not in later}
    kept = {name: bool(value) if name == _PATH else value for name, value in read.items()}
    key = json.dumps([str(project), target, kept, parsed], sort_keys=True)
    # The one that was used last is at the end.
    server = _servers.pop(key, None)
    if server is None:
        name = hashlib.sha256(key.encode()).hexdigest()
        server = CommandServer(__file__, name, str(project), target, json.dumps(read), env=parsed)
        while len(_servers) >= _MOST:
            _servers.pop(next(iter(_servers))).close()
    _servers[key] = server
    warehouse, folders = places_of(folder)
    # Half of a short run is the writing of what the project was parsed to, which nobody reads.
    env = {"DBT_WRITE_JSON": "0", **env}
    command = [*args, "--target", target, *folders]
    return server.run(command, {**os.environ, **warehouse, **env}, project)


@atexit.register
def close_servers() -> None:
    """End the processes."""
    while _servers:
        _servers.popitem()[1].close()


def _serve(name: str, project: str, target: str, variables: str) -> int:
    """Parse a project, and in each fork run dbt and return its exit code."""
    from dbt.cli.main import dbtRunner

    os.chdir(project)
    words = ["--quiet", "--no-write-json", "parse", "--target", target, "--vars", variables]
    # Standard output is for the answers.
    told = os.dup(1)
    os.dup2(2, 1)
    parsed = dbtRunner().invoke([*words, *parse_options(name)])
    os.dup2(told, 1)
    if not parsed.success:
        sys.exit("the project cannot be parsed")
    wait_for_a_command()
    _name_database(parsed.result, os.environ.get("PGDATABASE"))
    done = dbtRunner(manifest=parsed.result).invoke(sys.argv[1:])
    return 0 if done.success else 1 if done.exception is None else 2


def _name_database(manifest: Manifest, name: str | None) -> None:
    """Put the database of this run where that of the parse stands; DuckDB's has one name."""
    for node in (*manifest.nodes.values(), *manifest.sources.values()):
        if name and node.database:
            quoted = f'"{node.database}".'
            node.database = name
            node.relation_name = (node.relation_name or "").replace(quoted, f'"{name}".', 1) or None


if __name__ == "__main__":
    sys.exit(_serve(*sys.argv[1:]))
