"""The cases of the CDM benchmark, made admission by admission with nine statements each.

This is the other way to build the benchmark, and the usual one: filter the tables to the listed
admissions, then go through these in a loop, ask the database nine times for each, and let Python
clean the texts. It is written from the rules of practical_cdm_benchmark (`cdm_rules: reference`)
and shares no code with the SQL of this project, only its word lists, so it serves twice: benchmarks
are measured against it, and a test compares its cases with those of the SQL.

    cd python/tests; python -m oracles.admission_by_admission SOURCE LIST cases.json --mode extended

SOURCE holds the folders hosp, note and note_extract, LIST one hadm_id a line. Ranks and rules are
applied in Python on the rows of an admission, so that the statements stay simple; ties end in
labevent_id, or in specimen and name of a culture.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg

from oracles.cdm.cases import make_cases, write_cases
from oracles.cdm.databases import Database
from oracles.cdm.events import MODES
from oracles.cdm.tables import prepare


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m oracles.admission_by_admission",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("source", type=Path, help="folder with hosp, note and note_extract")
    add("list", type=Path, help="file with one hadm_id a line")
    add("out", type=Path, help="JSON file to write")
    add("--mode", choices=MODES, default="default")
    add("--first", type=int, metavar="N", help="only so many admissions of the list")
    add("--indexes", action="store_true", help="index the tables by what is asked for")
    add("--postgres", action="store_true", help="in the PG* database that `load mimic4` filled")
    add("--times", type=Path, metavar="FILE", help="write seconds and counts as JSON")
    return parser.parse_args(words)


def read_list(path: Path) -> list[int]:
    """Read the admissions in their order."""
    return [int(line) for line in path.read_text(encoding="utf-8").split()]


def main() -> int:
    """Run from the command line."""
    arguments = parse()
    hadm_ids = read_list(arguments.list)
    chosen = hadm_ids[: arguments.first]
    # What was prepared in a database does not stay.
    with ExitStack() as stack:
        connection = None
        if arguments.postgres:
            connection = stack.enter_context(psycopg.connect())
            stack.callback(connection.rollback)
        database = Database(arguments.source, connection)
        start = time.perf_counter()
        prepare(database, hadm_ids, with_indexes=arguments.indexes)
        prepared = time.perf_counter()
        made = make_cases(database, chosen, MODES[arguments.mode])
        ended = time.perf_counter()
        statements = database.statements
    write_cases(made.cases, arguments.out)
    for hadm_id, reason in made.failed.items():
        print(f"{hadm_id}: no case, {reason}", file=sys.stderr)
    if arguments.times:
        times = {
            "prepare_s": prepared - start,
            "loop_s": ended - prepared,
            "admissions": len(chosen),
            "cases": len(made.cases),
            "statements": statements,
        }
        arguments.times.write_text(json.dumps(times), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
