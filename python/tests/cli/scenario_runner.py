"""Scenarios as data: files, an endpoint's script and steps; and what runs them.

A scenario is an entry of a YAML file in `scenarios/`:

    name:       also of its record in python/tests/golden/scenarios
    about:      what it holds, in one sentence
    slow:       true if it takes more than about two seconds of CPU
    warehouse:  true if it reads the demo's tables
    inputs:     files of `inputs/` that are copied into the folder
    files:      name: text, or anything that is written as JSON
    recorded:   a folder of `golden/old_folders`, made by an earlier version, that is copied in;
                `$HERE` in it is the scenario's folder, and the endpoint is where it was then
    env:        variables; with one, the key that a request brings is recorded too
    endpoint:   rules, the first that fits a request answers it; see `_Endpoint`
    steps:      a command's words after `python -m medeval`, or one of the other steps; see `_step`

`$URL` in words and files is the endpoint's address. A word with `*` is the paths that fit it, in
their order. Commands run in this process, in a folder that has the project's parts as links, so
that all paths are short and nothing of the checkout's own runs is seen.
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
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml
from commands import PROJECT_ROOT
from in_process import Main
from model_server import Body, Fault, ModelServer, Script, error, model_server, prompt_of
from scenario_records import Normal

_FOLDER = Path(__file__).with_name("scenarios")
_INPUTS = Path(__file__).with_name("inputs")
_RECORDED = PROJECT_ROOT / "python" / "tests" / "golden" / "old_folders"
# Where the endpoint of the recorded folders was: on the loopback, and where nobody else listens.
_RECORDED_ADDRESS = ("127.83.12.5", 8083)
# What a checkout needs to be one, for the commands that read its settings and its demo.
_PARTS = ("dbt_project.yml", "profiles.yml", "demo", "models", "seeds", "macros", "tests")
_MARKER = re.compile(r"^VERDICT-[0-9a-f]{16}$", re.MULTILINE)


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
    slow: bool = False
    warehouse: bool = False
    recorded: str = ""
    leave_out: list[str] = field(default_factory=list)


def scenarios() -> list[Scenario]:
    """Return those of all files."""
    return [
        Scenario(**entry)
        for path in sorted(_FOLDER.glob("*.yaml"))
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


class _Endpoint:
    """An endpoint by rules.

    A rule is for every request, or for those with `when` in their last message, of the `model`, in
    the `turn` (answers of the model before), for a prompt the first `times` it comes, or for the
    one request that is the scenario's `nth`. It gives
    `text` (`$MARKER` is the judge's marker), `finish`, `thinking`, `refusal`, `calls` (tool and
    arguments), in a batch also `usage`; or `status` with `message`, `code`, `retry_after`; or
    `drops` or `hangs`.
    """

    def __init__(self, rules: list[dict[str, Any]]) -> None:
        self._rules = rules
        self._chosen: dict[int, dict[str, Any]] = {}
        self._count = 0
        self.script = Script(fault=self._fault, reply=self._reply)

    def _fits(self, rule: Mapping[str, Any], body: Body, before: int) -> bool:
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        return (
            rule.get("when", "") in prompt_of(body)
            and rule.get("model", body["model"]) == body["model"]
            and rule.get("turn", turn) == turn
            and before < rule.get("times", before + 1)
            and rule.get("nth", self._count) == self._count
            and rule.get("sends", "model") in body
        )

    def rule(self, body: Body, before: int) -> dict[str, Any]:
        fitting = (rule for rule in self._rules if self._fits(rule, body, before))
        return next(fitting, {"status": 404, "message": "no rule"})

    def _fault(self, body: Body, before: int) -> Fault | None:
        self._count += 1
        rule = self.rule(body, before)
        self._chosen[id(body)] = rule
        if "status" in rule:
            headers = {"Retry-After": str(rule["retry_after"])} if "retry_after" in rule else {}
            more = {name: rule[name] for name in ("code", "param") if name in rule}
            return error(rule["status"], rule.get("message", ""), headers, **more)
        return Fault(drops=rule.get("drops", False), hangs=rule.get("hangs", False))

    def _reply(self, body: Body) -> dict[str, Any]:
        return self.answer(self._chosen.pop(id(body)), body)

    def answer(self, rule: Mapping[str, Any], body: Body) -> dict[str, Any]:
        markers = _MARKER.findall(prompt_of(body))
        text = rule.get("text", "")
        text = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        given: dict[str, Any] = {
            "content": text.replace("$MARKER", markers[-1] if markers else ""),
            "finish_reason": rule.get("finish", "tool_calls" if "calls" in rule else "stop"),
        }
        if "thinking" in rule:
            given["reasoning_content"] = rule["thinking"]
        if "refusal" in rule:
            given["refusal"] = rule["refusal"]
        if "calls" in rule:
            given["tool_calls"] = [
                {
                    "id": f"c{number}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for number, (name, arguments) in enumerate(rule["calls"])
            ]
        return given


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
        self._endpoint = _Endpoint(scenario.endpoint)
        self._server: ModelServer | None = None
        self._normal = Normal(folder, "")

    def record(self) -> dict[str, Any]:
        self._link_parts()
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
        files = {
            self._normal.text(name): self._normal.file(path)
            for name, path in self._files().items()
            if name not in given and not self._is_left_out(name)
        }
        record = {"about": self._scenario.about, "steps": steps, "files": files}
        # What commands write is for its owner only: there is such a list if it is not.
        shown = [
            self._normal.text(name)
            for name, path in self._files().items()
            if name not in given and path.stat().st_mode & 0o077
        ]
        return {**record, "open to others": shown} if shown else record

    def _link_parts(self) -> None:
        """Make the folder look like a checkout; what is written beside the links stays in it."""
        for name in _PARTS:
            part = PROJECT_ROOT / name
            if part.is_file():
                (self._folder / name).symlink_to(part)
                continue
            (self._folder / name).mkdir()
            for inner in part.iterdir():
                (self._folder / name / inner.name).symlink_to(inner)

    def _files(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for place, _, names in os.walk(self._folder):
            for name in names:
                path = Path(place) / name
                if not path.is_symlink() and path.suffix != ".pyc":
                    found[path.relative_to(self._folder).as_posix()] = path
        return dict(sorted(found.items()))

    def _is_left_out(self, name: str) -> bool:
        return any(fnmatch(name, pattern) for pattern in self._scenario.leave_out)

    def _write(self, name: str, content: Any) -> None:
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._with_url(text), encoding="utf-8")

    def _with_url(self, text: str) -> str:
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
        `write` writes a file (`content`); `replace` a `text` in a file `by` another; `copy` copies
        a file or folder `to` a place; `kill` starts a command in a process of its own and kills
        it, or ends it `by` another signal that comes so many `times`, when the endpoint, whose
        rules hang, has seen `at` requests (`background`: it is started without a Ctrl-C, as by a
        shell); `batch` answers a file of prompts by the endpoint's rules into the file `to`.
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
        elif "replace" in step:
            path = self._one(step["replace"])
            text = path.read_text(encoding="utf-8")
            assert step["text"] in text
            path.write_text(text.replace(step["text"], step["by"]), encoding="utf-8")
        elif "copy" in step:
            path = self._one(step["copy"])
            copied = shutil.copytree if path.is_dir() else shutil.copyfile
            copied(path, self._folder / step["to"])
        else:
            self._batch(self._folder / step["batch"], self._folder / step["to"])
        return {"step": {name: self._normal.value(value) for name, value in step.items()}}

    def _command(self, command: str) -> dict[str, Any]:
        seen = len(self._server.seen.bodies) if self._server else 0
        done = self._main(*self._words(command))
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
            choice = {
                "index": 0,
                "message": {"role": "assistant", **replied},
                "finish_reason": finish,
            }
            counted = {"usage": rule["usage"]} if "usage" in rule else {}
            body = {"model": "m-1", "choices": [choice], **counted}
            if "status" in rule:
                body = {"error": {"message": rule["message"]}}
            response = {"status_code": rule.get("status", 200), "body": body}
            lines.append(json.dumps({"custom_id": asked["custom_id"], "response": response}))
        # A batch gives its answers in any order.
        answers.write_text("".join(f"{line}\n" for line in reversed(lines)), encoding="utf-8")
