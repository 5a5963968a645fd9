"""The Python layer stays thin: how much code each place may hold, and who may import whom.

A ceiling is lowered when a place shrinks, and is never raised without a word about what users gain.
"""

from __future__ import annotations

import ast
import io
import re
import runpy
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from commands import PROJECT_ROOT

PACKAGE = PROJECT_ROOT / "python" / "medeval"
TESTS = PROJECT_ROOT / "python" / "tests"
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER),
    *(tokenize.INDENT, tokenize.DEDENT),
}

# Code lines of each place, without comments and docstrings, and what else is counted.
CEILINGS: dict[str, int] = tomllib.loads(
    Path(__file__).with_name("tables").joinpath("ceilings.toml").read_text(encoding="utf-8")
)

# From the command line down to plain texts and files: who is above may import who is below.
LAYERS = (
    ("cli", "__main__", "__init__"),
    ("commands",),
    ("evaluation", "adapters", "api"),
    ("tasks",),
    ("judging", "reporting"),
    ("inference",),
    ("scoring", "metrics", "models"),
    ("(top)",),
)
# What imports from above itself today. Nothing is added here.
UPWARD: set[tuple[str, str]] = {("(top)", "tasks"), ("tasks", "evaluation")}

# Folders that serve every benchmark, and the words by which they would name one.
GENERAL = ("cli.py", "commands", "inference", "judging", "scoring", "reporting")
BENCHMARKS = ("yier", "mtsamples", "cdm", "mimic3", "phenotyping", "decompensation")


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
    return inside.stem if inside.stem in ("cli", "__main__", "__init__", "api") else "(top)"


def measured() -> dict[str, int]:
    files = python_files(PACKAGE)
    counts: Counter[str] = Counter()
    for path in files:
        parts = path.relative_to(PACKAGE).parts
        is_task = parts[0] == "tasks" and len(parts) > 2
        counts["/".join(parts[:2]) if is_task else place_of(path)] += code_lines(path)
    counts["package"] = sum(counts.values())
    for name in ("python/tests", "benchmarks", "tools"):
        counts[name] = sum(map(code_lines, python_files(PROJECT_ROOT / name)))
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    counts["functions"] = sum(
        isinstance(node, functions) for path in files for node in ast.walk(parsed(path))
    )
    counts["files"] = len(files)
    counts["general code that names a benchmark"] = len(named_in_general_code())
    return dict(counts)


@pytest.mark.slow
def test_no_place_grows() -> None:
    found = measured()
    assert found.keys() == CEILINGS.keys()
    assert {place: n for place, n in found.items() if n > CEILINGS[place]} == {}, "too much"
    # A place that has fallen far below its ceiling gets a lower one.
    slack = {place: min(60, 10 + ceiling // 50) for place, ceiling in CEILINGS.items()}
    low = {place: n for place, n in found.items() if n < CEILINGS[place] - slack[place]}
    assert low == {}, "lower these ceilings"


def test_no_file_is_longer_than_450_lines() -> None:
    files = python_files(PACKAGE)
    assert [path.name for path in files if path.read_text(encoding="utf-8").count("\n") > 450] == []


def imported_by(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imported_places(path: Path) -> Iterator[str]:
    for name in imported_by(path):
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


def named_in_general_code() -> list[str]:
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
    return named


# Tests of what users see: they hold whatever is rebuilt behind the commands and documented names.
OUTSIDE = ("cli", "golden", "readers", "contract")


def names_of_pages() -> set[str]:
    """Return the dotted names that pages write out or import, and those of the documents."""
    pages = [PROJECT_ROOT / "README.md", *PROJECT_ROOT.glob("docs/*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    names = {*re.findall(r"\bmedeval(?:\.\w+)+", text), "medeval", "medeval.cli", "medeval.cli.app"}
    for module, imported in re.findall(r"^from (medeval[\w.]*) import (.+)", text, re.MULTILINE):
        names |= {f"{module}.{name}" for name in imported.split(", ")}
    documents = runpy.run_path(str(TESTS / "contract" / "test_names.py"))["NAMES"]
    return names | {f"{module}.{name}" for module, each in documents.items() for name in each}


def test_tests_of_what_users_see_import_documented_names_alone() -> None:
    documented, inside = names_of_pages(), {}
    files = [path for folder in OUTSIDE for path in python_files(TESTS / folder)]
    for path in files:
        names = imported_by(path)
        # What a module of the tests imports is imported with it.
        beside = [TESTS / f"{name.split('.')[0]}.py" for name in sorted(names)]
        files += [one for one in dict.fromkeys(beside) if one.is_file() and one not in files]
        if unknown := {one for one in names - documented if one.split(".")[0] == "medeval"}:
            inside[path.relative_to(TESTS).as_posix()] = sorted(unknown)
    assert inside == {}, "go through the command line, or stand in unit/"
