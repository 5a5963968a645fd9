"""The page docs/performance.md of the MIMIC-III floor."""

from __future__ import annotations

import re

from benchmarks.commands import ROOT
from benchmarks.mimic3_tables import sections
from benchmarks.page import Page

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


def settings_rows() -> list[str]:
    """Return the settings with the defaults that profiles.yml has."""
    profiles = (ROOT / "profiles.yml").read_text(encoding="utf-8")
    defaults = dict(re.findall(r"env_var\('(\w+)', '([^']*)'\)", profiles))
    return [f"| `{name}` | `{defaults[name]}` | {what} |" for name, what in SETTINGS.items()]


PAGE = Page(HEAD, sections, TAIL.format(settings="\n".join(settings_rows())))
