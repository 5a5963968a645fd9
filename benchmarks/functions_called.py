"""How many functions of the package lie between a command and what it does.

`run --task yier` until the first byte of HTTP leaves, and `score --task yier RUN` to its end, each
in a process of its own: distinct functions of the package, the files that hold them, and how deep
the package's stack is when the byte leaves. What runs while modules load is not counted.
"""

from __future__ import annotations

import asyncio.selector_events
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from benchmarks.asking import endpoint
from benchmarks.measuring import ROOT

PACKAGE = f"{ROOT}/python/medeval/"


def is_ours(code: CodeType) -> bool:
    """Tell whether code is a function of the package; bodies of modules and classes are none."""
    return code.co_filename.startswith(PACKAGE) and code.co_flags & 0x2 != 0


def count(place: str, until: str, *words: str) -> None:
    """Run a command in this process and write what it called into a file.

    Args:
        place: the file.
        until: `byte`, the first that leaves for an endpoint, or `end`.
        words: of the command line after `medeval`.
    """
    from medeval.cli import main

    called: set[tuple[str, str]] = set()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and is_ours(code) and not code.co_name.startswith("<"):
            called.add((code.co_filename.removeprefix(PACKAGE), code.co_qualname))

    def write(stack: int) -> None:
        sys.setprofile(None)
        found = {"functions": sorted(called), "stack": stack}
        Path(place).write_text(json.dumps(found), encoding="utf-8")

    def leave(*sent: object) -> None:
        frame: FrameType | None = sys._getframe()
        depth = 0
        while frame is not None:
            depth += is_ours(frame.f_code)
            frame = frame.f_back
        write(depth)
        os._exit(0)

    if until == "byte":
        asyncio.selector_events._SelectorSocketTransport.write = leave  # type: ignore[attr-defined]
    sys.argv = ["medeval", *words]
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        main()
    finally:
        write(0)


def counted(folder: Path, until: str, *words: str) -> dict[str, Any]:
    """Return what a command called, in a process of its own; see `count`."""
    place = folder / "called.json"
    command = [sys.executable, "-m", "benchmarks.functions_called", "--count", place, until, *words]
    subprocess.run(list(map(str, command)), cwd=ROOT, stdout=subprocess.DEVNULL, check=True)  # noqa: S603  our own
    found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Print the figures; with --all the names."""
    with tempfile.TemporaryDirectory() as name, endpoint("benchmarks.bench_runner", 1) as (url, _):
        folder = Path(name)
        words = ("run", "--task", "yier", "--model", "m", "--base-url", url)
        run = counted(folder, "byte", *words, "--out", str(folder / "asked"))
        counted(
            folder, "end", "run", "--task", "yier", "--model", "demo", "--out", str(folder / "r")
        )
        (made,) = (folder / "r").iterdir()
        score = counted(folder, "end", "score", "--task", "yier", str(made))
    for label, found in (("run, to the first byte", run), ("score", score)):
        files = {file for file, _ in found["functions"]}
        stack = f", stack {found['stack']}" if found["stack"] else ""
        print(f"{label}: {len(found['functions'])} functions in {len(files)} files{stack}")
        if "--all" in sys.argv:
            for file, function in found["functions"]:
                print(f"    {file} {function}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--count"]:
        count(*sys.argv[2:])
    else:
        main()
