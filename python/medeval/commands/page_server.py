"""The pages of the runs of a folder, for a browser on this machine alone."""

from __future__ import annotations

import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from medeval.commands.report import page_of, read_reports
from medeval.errors import UserError
from medeval.tasks import registry
from medeval.text import sha256_of

_LOOPBACK = "127.0.0.1"


class Viewer(ThreadingHTTPServer):
    """A server on loopback whose pages are found under a random token only.

    Args:
        folder: of runs.
        port: 0 takes a free one.
        show_text: with inputs and outputs that are not open.

    Attributes:
        address: of the first page.
    """

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0, *, show_text: bool = False) -> None:
        super().__init__((_LOOPBACK, port), _Handler)
        self.folder, self.show_text = folder, show_text
        self.token = secrets.token_urlsafe(16)
        self.hosts = {f"{name}:{self.server_port}" for name in (_LOOPBACK, "localhost")}
        self.address = f"http://{_LOOPBACK}:{self.server_port}/{self.token}/"

    def page(self, place: str, asked: dict[str, str]) -> str | None:
        """Return what stands at a place; None if nothing does.

        Raises:
            UserError: runs that cannot be shown so.
        """
        if place == "state":
            return self._state()
        if place == "":
            from medeval.api import run_rows
            from medeval.reporting.report import page

            rows = run_rows(self.folder)[::-1]
            return page("runs.html", folder=str(self.folder), runs=rows, state=self._state())
        if place == "compare":
            return self._compare(asked)
        kind, _, name = place.partition("/")
        if kind != "run" or (folder := self._runs().get(unquote(name))) is None:
            return None
        (report,) = read_reports([folder])
        return page_of(report, folder, show_text=self.show_text)

    def _runs(self) -> dict[str, Path]:
        # Only what is listed is opened, so that no name leads out of the folder.
        return {one.parent.name: one.parent for one in sorted(self.folder.glob("*/run.json"))}

    def _state(self) -> str:
        """Return a hash that is another one when a run was added, removed or scored."""
        scores = {name: run / registry.SCORES for name, run in self._runs().items()}
        times = {name: one.stat().st_mtime_ns for name, one in scores.items() if one.is_file()}
        return sha256_of(repr([(name, times.get(name, 0)) for name in scores]))

    def _compare(self, asked: dict[str, str]) -> str:
        from medeval.reporting.report import page
        from medeval.reporting.side_by_side import side_by_side

        names, known = [asked.get("a", ""), asked.get("b", "")], self._runs()
        if unknown := [name for name in names if name not in known]:
            raise UserError(f"There is no run {unknown[0]!r}. Choose A and B in the list.")
        results = []
        for name, report in zip(names, read_reports([known[name] for name in names]), strict=True):
            if len(report.detailed_results) != 1:
                raise UserError(f"{name} has more than one task; runs of one can be compared.")
            results += report.detailed_results
        first, second = results
        pair = side_by_side(first, second, asked.get("metric"), show_text=self.show_text)
        models = [first.model_id, second.model_id]
        return page("pair.html", a=names[0], b=names[1], models=models, pair=pair)


class _Handler(BaseHTTPRequestHandler):
    server: Viewer

    def do_GET(self) -> None:
        """Answer with a page, if the link and the host are those that were told."""
        place = urlsplit(self.path)
        token, _, rest = place.path.removeprefix("/").partition("/")
        # A page of another site may lead a name of its own to this machine.
        is_ours = self.headers.get("Host", "") in self.server.hosts
        if not is_ours or not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._answer(404, "There is nothing here. Use the link that `view` has printed.")
            return
        asked = {name: one[-1] for name, one in parse_qs(place.query).items()}
        try:
            text = self.server.page(rest, asked)
        except UserError as error:
            self._answer(400, str(error))
            return
        if text is None:
            self._answer(404, "There is no such page.")
        else:
            self._answer(200, text, "text/plain" if rest == "state" else "text/html")

    def _answer(self, status: int, text: str, kind: str = "text/plain") -> None:
        body = text.encode("utf-8")
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  as the library has it
        """Say nothing: the token stands in each address."""
