"""The results on the terminal, and as the page docs/performance.md."""

from __future__ import annotations

import re
import textwrap

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.commands import ROOT
from benchmarks.results import Results
from benchmarks.tables import Section, sections

HEAD = """\
# Performance

<!-- Written by `python -m benchmarks.mimic3 --render --write docs/performance.md`: do not edit. -->

How long the MIMIC-III listfiles take, and how much memory, each beside another way to make the
same listfiles. All figures are of whole processes, from start to end.

- **dbt build + export**: `dbt build --select mimic3 --resource-type seed --resource-type model` in
  a new warehouse file, then `python -m medeval export`. The project was parsed before, as after
  `make setup`; tests are left out. It reads the `.csv.gz` files in place. Besides the listfiles it
  makes attrition, findings, the time series table and the validation split.
- **patient by patient**: the baseline, measured in the same run. `benchmarks/patient_by_patient.py`
  is a program of our own in Python and pandas that works as the benchmark's scripts do, one patient
  after the other, on one core. It writes time series files and the listfiles of train and test; a
  test checks that these are the same.
- **mimic3-benchmarks (recorded)**: the published scripts, all stages, measured once on 2 cores with
  Python 3.11 and pandas 1.5.3, and not in these runs: its ratios tell the order of magnitude only.

Seconds and ratios are the median of the runs, with the least and the greatest. A ratio is the
other's figure divided by ours, run by run: above 1, ours took less. User CPU counts all threads,
and moves less than wall time when something else uses the machine. Peak memory is the largest seen
in any run: of the largest process's resident set, as the kernel kept it, and of the sum over all
processes of the command, looked at ten times a second.
"""

TAIL = """\
## Memory and disk settings

Environment variables, read in `profiles.yml`:

| variable | default | what |
| --- | --- | --- |
{settings}

DuckDB's limit holds for its own buffers; Python and dbt come on top. What does not fit is written
to the folder for spilled data, and removed when the build ends.

## Measure again

```sh
python -m benchmarks.mimic3 --write docs/performance.md   # demo, copies and memory
python -m benchmarks.mimic3 --only demo --runs 5          # one part, the others are kept
python -m benchmarks.mimic3 --only copies --growth 30     # one more size
python -m benchmarks.mimic3 --only postgres               # a server is started for it
python -m benchmarks.mimic3 --render --write docs/performance.md
```

`--mimic3-demo DIR` names the folder of the MIMIC-III demo (open data on PhysioNet); without it the
parts `demo` and `copies` use `demo/mimic3`. The figures are kept in
`benchmarks/results/mimic3.json`. Temporary files go to the system's folder or to `--folder`, and
are removed. The caller's `MEDEVAL_*`, `PG*` and `DBT_*` variables do not reach the measured
commands.
"""

SETTINGS = {
    "MEDEVAL_MEMORY_LIMIT": "memory of DuckDB before it spills",
    "MEDEVAL_TEMP_DIR": "folder for spilled data: a fast disk with room",
    "MEDEVAL_MAX_TEMP_SIZE": "the build stops rather than spill more",
    "MEDEVAL_THREADS": "threads of DuckDB and of dbt; each needs memory of its own",
}


def terminal(results: Results, console: Console) -> None:
    """Print the tables."""
    for section in sections(results):
        table = Table(*section.columns, title=section.title, box=box.SIMPLE)
        for row in section.rows:
            table.add_row(*row)
        console.print(table)


def markdown(results: Results) -> str:
    """Return the page."""
    tail = TAIL.format(settings="\n".join(settings_rows()))
    return "\n".join([HEAD, *map(markdown_section, sections(results)), tail])


def markdown_section(section: Section) -> str:
    """Return a heading, its sentence and its table."""
    lines = [section.columns, ["---"] * len(section.columns), *section.rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    text = textwrap.fill(section.text, 100, break_on_hyphens=False)
    blocks = [f"## {section.title}", text, table]
    return "\n\n".join(filter(None, blocks)) + "\n"


def settings_rows() -> list[str]:
    """Return the settings with the defaults that profiles.yml has."""
    profiles = (ROOT / "profiles.yml").read_text(encoding="utf-8")
    defaults = dict(re.findall(r"env_var\('(\w+)', '([^']*)'\)", profiles))
    return [f"| `{name}` | `{defaults[name]}` | {what} |" for name, what in SETTINGS.items()]
