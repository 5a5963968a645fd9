"""The Python layer stays thin: how much code each place may hold, and who may import whom.

A ceiling is lowered when a place shrinks, and is never raised without a word about what users gain.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from commands import PROJECT_ROOT

PACKAGE = PROJECT_ROOT / "python" / "medeval"
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER),
    *(tokenize.INDENT, tokenize.DEDENT),
}

# Lines of code, without comments and docstrings.
CEILINGS: dict[str, int] = {
    "(top)": 2530,
    "__main__": 10,
    "baselines": 380,
    "cdm": 3120,
    "cli": 60,
    "commands": 2610,
    "evaluation": 2100,
    "inference": 3530,
    "judging": 2070,
    "metrics": 730,
    "mimic3": 410,
    "models": 1130,
    "mtsamples": 560,
    "predictions": 1260,
    "reporting": 880,
    "scoring": 1460,
    "tasks": 2910,
    "yier": 1340,
    "package": 27000,
    "python/tests": 30870,
    "benchmarks": 1200,
    "tools": 1700,
}
# A place that has fallen this far below its ceiling gets a lower one.
SLACK = 60

FILES, FUNCTIONS = 208, 2047

# From the command line down to plain texts and files: who is above may import who is below.
LAYERS = (
    ("cli", "__main__"),
    ("commands",),
    ("evaluation",),
    (
        "tasks",
        "yier",
        "mtsamples",
        "cdm",
        "mimic3",
        "predictions",
        "baselines",
        "task_files",
        "exporting",
    ),
    ("judging", "reporting"),
    ("inference",),
    ("scoring", "metrics", "models"),
    ("(top)",),
)
# What imports from above itself today. Nothing is added here.
UPWARD: set[tuple[str, str]] = {("(top)", "mtsamples"), ("tasks", "evaluation")}

# Folders that serve every benchmark, and the words by which they would name one.
GENERAL = ("cli.py", "commands", "inference", "judging", "scoring", "reporting")
BENCHMARKS = ("yier", "mtsamples", "cdm", "mimic3", "phenotyping", "decompensation")
NAMED_PLACES = 44


def python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def docstrings(path: Path) -> Iterator[ast.Constant]:
    holders = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(parsed(path)):
        if isinstance(node, holders) and node.body and isinstance(node.body[0], ast.Expr):
            value = node.body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value


def code_lines(path: Path) -> int:
    lines: set[int] = set()
    text = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for docstring in docstrings(path):
        lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def place_of(path: Path) -> str:
    inside = path.relative_to(PACKAGE)
    if len(inside.parts) > 1:
        return inside.parts[0]
    return inside.stem if inside.stem in ("cli", "__main__") else "(top)"


def lines_of_places() -> dict[str, int]:
    lines: Counter[str] = Counter()
    for path in python_files(PACKAGE):
        lines[place_of(path)] += code_lines(path)
    lines["package"] = sum(lines.values())
    for name in ("python/tests", "benchmarks", "tools"):
        lines[name] = sum(map(code_lines, python_files(PROJECT_ROOT / name)))
    return dict(lines)


@pytest.mark.slow
def test_no_place_grows() -> None:
    lines = lines_of_places()
    assert lines.keys() == CEILINGS.keys()
    assert {place: n for place, n in lines.items() if n > CEILINGS[place]} == {}, "too long"
    low = {place: n for place, n in lines.items() if n < CEILINGS[place] - SLACK}
    assert low == {}, "lower these ceilings"


def test_files_and_functions_do_not_become_more() -> None:
    files = python_files(PACKAGE)
    functions = sum(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for path in files
        for node in ast.walk(parsed(path))
    )
    assert FILES - 5 <= len(files) <= FILES
    assert FUNCTIONS - 30 <= functions <= FUNCTIONS


def test_no_file_is_longer_than_450_lines() -> None:
    files = python_files(PACKAGE)
    assert [path.name for path in files if path.read_text(encoding="utf-8").count("\n") > 450] == []


def imported_places(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "medeval":
            names = [f"medeval.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            parts = name.split(".")
            if parts[0] == "medeval" and len(parts) > 1:
                is_folder = (PACKAGE / parts[1]).is_dir()
                yield parts[1] if is_folder else place_of(PACKAGE / f"{parts[1]}.py")


def test_imports_go_down() -> None:
    depth = {place: number for number, layer in enumerate(LAYERS) for place in layer}
    upward = {
        (place_of(path), imported)
        for path in python_files(PACKAGE)
        for imported in imported_places(path)
        if depth[imported] < depth[place_of(path)]
    }
    assert upward == UPWARD


def words_of(node: ast.AST) -> list[str]:
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            return [node.module or "", *(alias.name for alias in node.names)]
        case ast.Name():
            return [node.id]
        case ast.Attribute():
            return [node.attr]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Constant(value=str(text)):
            return [text]
    return []


def test_general_code_names_no_more_benchmarks() -> None:
    named = []
    for place in GENERAL:
        folder = PACKAGE / place
        for path in python_files(folder) if folder.is_dir() else [folder]:
            documented = set(docstrings(path))
            named += [
                f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 1)}"
                for node in ast.walk(parsed(path))
                if node not in documented
                and any(name in word.lower() for word in words_of(node) for name in BENCHMARKS)
            ]
    assert NAMED_PLACES - 5 <= len(named) <= NAMED_PLACES, named
