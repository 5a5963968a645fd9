"""Results as they are kept, the section that is made of them, and the command of every benchmark.

The parts of a benchmark are functions that return their figures for JSON. The section is a template
in `templates/`; `benchmarks.performance` puts all of them on one page, with the kept figures in it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring import CommandFailedError

FOLDER = Path(__file__).parent
WIDTH = 100

Part = Callable[..., dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Ratio:
    """A row of the table of all benchmarks.

    Attributes:
        what: is done.
        beside: the baseline.
        n: how much of what.
        measure: whose figures these are, such as `user CPU s`.
        ours: our figure; theirs: the baseline's.
        our_mb: our peak memory; their_mb: the baseline's, 0 where it is not known.
        growth: our figure at 1, 2, 4 and 10 times the smallest size; empty where there are none.
    """

    what: str
    beside: str
    n: str
    measure: str
    ours: float
    theirs: float
    our_mb: float
    their_mb: float = 0.0
    growth: Sequence[float] = ()


def typical(runs: Iterable[Mapping[str, Any]], figure: str = "user_s") -> float:
    """Return the median of a figure over runs."""
    return float(median(run[figure] for run in runs))


def largest(runs: Iterable[Mapping[str, Any]]) -> float:
    """Return the peak memory over runs, in megabytes."""
    return float(max(run["peak_mb"] for run in runs))


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """What is measured, kept and shown together.

    Attributes:
        name: of the file in `results/`.
        section: of the template in `templates/`, without `.md`.
        parts: by their names; keyword arguments with defaults are options of the command.
        packages: whose versions are kept with a part.
        usual: the parts that are measured where none is named; all if empty.
        under: the key that holds the parts in the file; the file itself if empty.
        constants: what the template needs beside the parts.
        rows: the ratios of a part that is kept, by its name and figures.
        takes_long: it is not among all benchmarks, and measured by itself only.
    """

    name: str
    section: str
    parts: Mapping[str, Part]
    packages: Callable[[str], Iterable[str]]
    usual: tuple[str, ...] = ()
    under: str = ""
    constants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    rows: Callable[[str, dict[str, Any]], Iterable[Ratio]] = lambda _name, _part: ()
    takes_long: bool = False

    def results(self) -> dict[str, Any]:
        """Return the kept results; none where there is no file yet."""
        path = FOLDER / "results" / f"{self.name}.json"
        found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return found

    def keep(self, part: str, figures: Mapping[str, Any]) -> None:
        """Put a part in the place of an older measurement of it, and keep all."""
        results = self.results()
        parts = results.setdefault(self.under, {}) if self.under else results
        parts[part] = {"setting": setting(self.packages(part)), **figures}
        text = json.dumps(results, indent=2, default=dataclasses.asdict) + "\n"
        replace_text(FOLDER / "results" / f"{self.name}.json", text)

    def markdown(self) -> str:
        """Return the section of the kept results."""
        return rendered(self.section, parts=self._kept(), **self.constants)

    def ratios(self) -> list[Ratio]:
        """Return the rows of the kept results for the table of all benchmarks."""
        return [row for name, part in self._kept().items() for row in self.rows(name, part)]

    def measure(self, parts: Iterable[str], given: Mapping[str, Any] | None = None) -> None:
        """Measure parts, all if none is named, with what is given in place of their defaults."""
        for name in parts or self.parts:
            part = self.parts[name]
            wanted = signature(part).parameters.keys() & (given or {}).keys()
            self.keep(name, part(**{key: (given or {})[key] for key in wanted}))

    def _kept(self) -> dict[str, Any]:
        results = self.results()
        return results.get(self.under, {}) if self.under else results

    def main(self, description: str | None) -> None:
        """Run the command: measure what is asked for, keep it, show and write the page."""
        options = {
            option.name: option.default
            for part in self.parts.values()
            for option in signature(part).parameters.values()
        }
        parser = argparse.ArgumentParser(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--only", nargs="+", choices=list(self.parts), help="these parts")
        parser.add_argument("--render", action="store_true", help="the page, nothing is measured")
        for name, default in options.items():
            several = {"nargs": "+", "type": int} if isinstance(default, tuple) else {}
            kind: dict[str, Any] = {"type": type(default), **several}
            words = f"default: {default}" if default else "default: none"
            parser.add_argument(f"--{name.replace('_', '-')}", default=default, help=words, **kind)
        given = vars(parser.parse_args())
        numbers = {name: default for name, default in options.items() if isinstance(default, int)}
        if any(given[name] < min(1, least) for name, least in numbers.items()):
            parser.error("numbers are counted from 1")
        try:
            if not given["render"]:
                self.measure(given["only"] or self.usual, given)
        except CommandFailedError as error:
            sys.exit(str(error))
        # It knows every benchmark, this one too.
        from benchmarks.performance import write_page

        print(self.markdown())
        write_page()


def rendered(template: str, **values: Any) -> str:
    """Return a template with values in it."""
    import jinja2

    environment = jinja2.Environment(  # noqa: S701  Markdown, of our own figures
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"median": median, "spread": spread, "over": over, "less": less}
    environment.filters["wrap"] = wrap
    return environment.get_template(f"{template}.md").render(**values)


def setting(packages: Iterable[str]) -> dict[str, Any]:
    """Return when and on what a part is measured; no name of a machine, user or folder."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(memory / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), **{n: version(n) for n in packages}},
    }


def say(text: str) -> None:
    """Tell how far the measuring is."""
    print(text, flush=True)


def spread(values: Iterable[float]) -> str:
    """Write median, least and greatest."""
    numbers = sorted(values)
    if len(numbers) == 1:
        return f"{numbers[0]:.1f}"
    return f"{median(numbers):.1f} ({numbers[0]:.1f} to {numbers[-1]:.1f})"


def over(others: Iterable[float], ours: Iterable[float]) -> list[float]:
    """Divide run by run."""
    return [other / own for other, own in zip(others, ours, strict=True)]


def less(values: Iterable[float], start: float) -> list[float]:
    """Take a start off each."""
    return [value - start for value in values]


def wrap(text: str) -> str:
    """Fill the lines of a paragraph, which gets its figures before."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False)


def replace_text(path: Path, text: str) -> None:
    """Write a file beside its place and move it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
