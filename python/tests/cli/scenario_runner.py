"""Scenarios as data: files, an endpoint's script and steps; and what runs them.

A scenario is an entry of a YAML file in `scenarios/`:

    name:       also of its record in python/tests/golden/scenarios
    about:      what it holds, in one sentence
    slow:       true if it takes more than about two seconds of CPU
    warehouse:  true if it reads the demo's tables; `copy` if its steps change them
    inputs:     files of `inputs/` that are copied into the folder
    files:      name: text, or anything that is written as JSON
    recorded:   a folder of `golden/old_folders`, made by an earlier version, that is copied in;
                `$HERE` in it is the scenario's folder, and the endpoint is where it was then
    env:        variables; with one, the key that a request brings is recorded too
    nowhere:    texts that no command may print or write into a file
    endpoint:   rules, the first that fits a request answers it; see `RuledEndpoint`
    steps:      a command's words after `python -m medeval`, or one of the other steps; see `_step`

`$URL` in words and files is the endpoint's address, `$HERE` the scenario's folder. A word with `*`
is the paths that fit it, in their order; words `NAME=value` before a command are variables for it
alone. Commands run in this process, in a folder that has the project's parts as links, so that all
paths are short and nothing of the checkout's own runs is seen.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import takewhile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
from commands import PROJECT_ROOT, link_project
from in_process import Main
from model_server import ModelServer, RuledEndpoint, model_server
from scenario_records import Normal
from tables import read_yaml

_FOLDER = Path(__file__).with_name("scenarios")
_INPUTS = Path(__file__).with_name("inputs")
_RECORDED = PROJECT_ROOT / "python" / "tests" / "golden" / "old_folders"
# Where the endpoint of the recorded folders was: on the loopback, and where nobody else listens.
_RECORDED_ADDRESS = ("127.83.12.5", 8083)
_VARIABLE = re.compile(r"[A-Z_0-9]+=")


@dataclass(frozen=True)
class Scenario:
    """One entry; its attributes are those of the file."""

    name: str
    about: str
    steps: list[Any]
    inputs: list[str] = field(default_factory=list)
    files: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    endpoint: list[dict[str, Any]] = field(default_factory=list)
    nowhere: list[str] = field(default_factory=list)
    slow: bool = False
    warehouse: bool | str = False
    recorded: str = ""
    leave_out: list[str] = field(default_factory=list)


def scenarios() -> list[Scenario]:
    """Return those of all files."""
    return [
        Scenario(**entry)
        for path in sorted(_FOLDER.glob("*.yaml"))
        for entry in read_yaml(path.read_text(encoding="utf-8"))
    ]


def copy_recorded(name: str, folder: Path) -> None:
    """Copy a folder that an earlier version made, for its owner only, as it was."""
    for path in (_RECORDED / name).rglob("*"):
        if path.is_file():
            copied = folder / path.relative_to(_RECORDED / name)
            copied.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            text = path.read_text(encoding="utf-8").replace("$HERE", str(folder))
            copied.write_text(text, encoding="utf-8")
            copied.chmod(0o600)


class Runner:
    """Runs one scenario in a folder and returns its record."""

    def __init__(self, scenario: Scenario, folder: Path, main: Main) -> None:
        self._scenario = scenario
        self._folder = folder
        self._main = main
        self._endpoint = RuledEndpoint(scenario.endpoint)
        self._server: ModelServer | None = None
        self._normal = Normal(folder, "")
        self._printed = ""

    def record(self) -> dict[str, Any]:
        link_project(self._folder)
        with ExitStack() as stack:
            if self._scenario.endpoint:
                where = _RECORDED_ADDRESS if self._scenario.recorded else ("127.0.0.1", 0)
                server = model_server(self._endpoint.script, address=where)
                self._server = stack.enter_context(server)
                self._normal = Normal(self._folder, self._server.url)
            for name in self._scenario.inputs:
                self._write(name, (_INPUTS / name).read_text(encoding="utf-8"))
            for name, content in self._scenario.files.items():
                self._write(name, content)
            if self._scenario.recorded:
                copy_recorded(self._scenario.recorded, self._folder)
            given = set() if self._scenario.recorded else set(self._files())
            steps = [self._step(step) for step in self._scenario.steps]
        written = {name: path for name, path in self._files().items() if name not in given}
        files = {
            self._normal.text(name): self._normal.file(path)
            for name, path in written.items()
            if not any(fnmatch(name, pattern) for pattern in self._scenario.leave_out)
        }
        record = {"about": self._scenario.about, "steps": steps, "files": files}
        for text in self._scenario.nowhere:
            assert text not in self._printed
            for path in written.values():
                assert text.encode() not in path.read_bytes(), path
        # What commands write is for its owner only: there is such a list if it is not.
        shown = [name for name, path in written.items() if path.stat().st_mode & 0o077]
        if shown:
            record["open to others"] = list(map(self._normal.text, shown))
        return record

    def _files(self) -> dict[str, Path]:
        found = {
            path.relative_to(self._folder).as_posix(): path
            for path in self._folder.rglob("*")
            if path.is_file() and not path.is_symlink() and path.suffix != ".pyc"
        }
        return dict(sorted(found.items()))

    def _write(self, name: str, content: Any) -> None:
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._with_url(text), encoding="utf-8")

    def _with_url(self, text: str) -> str:
        text = text.replace("$HERE", str(self._folder))
        return text.replace("$URL", self._server.url) if self._server else text

    def _one(self, pattern: str) -> Path:
        (path,) = self._folder.glob(pattern)
        return path

    def _words(self, command: str) -> list[str]:
        words: list[str] = []
        for word in shlex.split(self._with_url(command)):
            fitting = sorted(self._folder.glob(word)) if "*" in word else []
            words += [path.relative_to(self._folder).as_posix() for path in fitting] or [word]
        return words

    def _step(self, step: Any) -> dict[str, Any]:
        """Take a step.

        A text is a command. `tear` leaves of a file the first `lines` and half of the next one;
        `write` writes a file (`content`); `replace` a `text` in a file `by` another, here or in a
        file `to` that it makes of it; `copy` copies a file or folder `to` a place; `remove` takes a
        file away; `link` makes a link `to` a folder; `sql` changes the copy of the warehouse;
        `kill` starts a command in a process of its own and kills it, or ends it `by` another signal
        that comes so many `times`, when the endpoint, whose rules hang, has seen `at` requests
        (`background`: it is started without a Ctrl-C, as by a shell); `batch` answers a file of
        prompts by the endpoint's rules into the file `to`.
        """
        if isinstance(step, str):
            return self._command(step)
        if "kill" in step:
            return self._kill(**step)
        if "tear" in step:
            path = self._one(step["tear"])
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            torn = lines[step["lines"]]
            path.write_text("".join(lines[: step["lines"]]) + torn[: len(torn) // 2], "utf-8")
        elif "write" in step:
            self._write(step["write"], step["content"])
            self._one(step["write"]).chmod(0o600)
        elif "replace" in step:
            path = self._one(step["replace"])
            text = path.read_text(encoding="utf-8")
            assert step["text"] in text
            changed = self._folder / step["to"] if "to" in step else path
            changed.write_text(text.replace(step["text"], step["by"]), encoding="utf-8")
            changed.chmod(0o600)
        elif "copy" in step:
            path, to = self._one(step["copy"]), self._folder / step["to"]
            to.parent.mkdir(parents=True, exist_ok=True)
            copied = shutil.copytree if path.is_dir() else shutil.copyfile
            copied(path, to)
            to.chmod(0o700 if path.is_dir() else 0o600)
        elif "remove" in step:
            self._one(step["remove"]).unlink()
        elif "link" in step:
            (self._folder / step["link"]).symlink_to(self._folder / step["to"])
        elif "sql" in step:
            with duckdb.connect(os.environ["MEDEVAL_DUCKDB"]) as connection:
                connection.execute(self._with_url(step["sql"]))
        else:
            self._batch(self._folder / step["batch"], self._folder / step["to"])
        return {"step": {name: self._normal.value(value) for name, value in step.items()}}

    def _command(self, command: str) -> dict[str, Any]:
        seen = len(self._server.seen.bodies) if self._server else 0
        words = self._words(command)
        env = dict(word.split("=", 1) for word in takewhile(_VARIABLE.match, words))
        with patch.dict(os.environ, env):
            done = self._main(*words[len(env) :])
        self._printed += done.out + done.err
        told: dict[str, Any] = {"command": command, "exit": done.code}
        told["out"] = self._normal.printed(done.out)
        told["err"] = self._normal.printed(done.err)
        return {name: value for name, value in {**told, **self._asked(seen)}.items() if value != []}

    def _asked(self, seen: int) -> dict[str, Any]:
        if self._server is None:
            return {}
        asked = [self._normal.request(body) for body in self._server.seen.bodies[seen:]]
        if self._scenario.env:
            for request, headers in zip(asked, self._server.seen.headers[seen:], strict=True):
                request["authorization"] = headers.get("authorization")
        asked.sort(key=lambda request: json.dumps(request, ensure_ascii=False, sort_keys=True))
        return {"requests": asked}

    def _kill(
        self, kill: str, at: int, by: str = "SIGKILL", times: int = 1, background: bool = False
    ) -> dict[str, Any]:
        assert self._server is not None
        seen = len(self._server.seen.bodies)
        ctrl_c = signal.SIG_IGN if background else signal.SIG_DFL
        started = subprocess.Popen(
            [sys.executable, "-m", "medeval", *self._words(kill)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # Whoever runs the tests may have been started without a Ctrl-C of its own.
            preexec_fn=lambda: signal.signal(signal.SIGINT, ctrl_c),
        )
        while self._server.seen.requests < seen + at:
            assert started.poll() is None, f"{kill} ended before it was killed"
            time.sleep(0.005)
        for _ in range(times):
            os.killpg(started.pid, signal.Signals[by])
        out, err = map(self._normal.printed, started.communicate())
        ended = {} if by == "SIGKILL" else {by: started.returncode, "out": out, "err": err}
        return {"killed": kill, **ended, **self._asked(seen)}

    def _batch(self, prompts: Path, answers: Path) -> None:
        lines = []
        for line in prompts.read_text(encoding="utf-8").splitlines():
            asked = json.loads(line)
            rule = self._endpoint.rule(asked["body"], 0)
            if "drops" in rule:
                continue
            replied = self._endpoint.answer(rule, asked["body"])
            finish = replied.pop("finish_reason")
            message = {"role": "assistant", **replied}
            choice = {"index": 0, "message": message, "finish_reason": finish}
            counted = {"usage": rule["usage"]} if "usage" in rule else {}
            body = {"model": "m-1", "choices": [choice], **counted}
            if "status" in rule:
                body = {"error": {"message": rule["message"]}}
            response = {"status_code": rule.get("status", 200), "body": body}
            lines.append(json.dumps({"custom_id": asked["custom_id"], "response": response}))
        # A batch gives its answers in any order.
        answers.write_text("".join(f"{line}\n" for line in reversed(lines)), encoding="utf-8")
