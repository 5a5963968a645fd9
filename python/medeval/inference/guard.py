"""The guard that every request passes before its first byte.

An item that is open may go anywhere. A credentialed one goes to an endpoint that is declared as
local, or whose operator's promises somebody has attested; this machine's own address is no
exception, since a proxy to elsewhere may listen there. A user's function, whose code may send it
elsewhere, is declared by its file; what is built in needs no entry. Whatever is admitted leaves a
line in the audit: hashes and reasons, never text.

The guard opens the connections too, since the way to an endpoint decides who can read: what the
environment says of proxies and authorities counts only for an endpoint that is not declared, which
gets open text alone.
"""

from __future__ import annotations

import json
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from medeval.errors import UserError
from medeval.files import not_written
from medeval.inference.endpoints import Declared, addresses_of, is_private, not_local
from medeval.inference.openai_replies import keep_bounded
from medeval.inference.types import CREDENTIALED, OPEN, Request

if TYPE_CHECKING:
    import httpx2

POLICY = "docs/data_use.md"
IN_PROCESS = "in-process"
# Parameters that an answer may need. Anything else (store, metadata, user, a search in the web) may
# have the endpoint keep text, pass it on or tell whose it is.
PLAIN = {
    *("max_tokens", "max_completion_tokens", "temperature", "top_p", "response_format", "seed"),
    *("presence_penalty", "frequency_penalty", "stop", "reasoning_effort", "tool_choice"),
    *("logprobs", "top_logprobs", "logit_bias", "parallel_tool_calls", "verbosity"),
    *("tools", "tools.function"),
}
# What the name of an environment variable is made of.
VARIABLE = r"^[A-Z][A-Z0-9_]{0,99}$"

Purpose = Literal["answer", "judgment", "count"]
Ground = Literal["open", "local", "attestation", "in-process"]


class RefusedError(UserError):
    """Credentialed text was about to go where it may not."""


@dataclass(frozen=True)
class DataUseGuard:
    """What may go where, and the record of what went.

    Attributes:
        endpoints: the declarations, by address; those of functions by the path of their file.
        audit: the file of the audit; one line per request.
        today: the day on which attestations must hold; None for the day of each request.
    """

    endpoints: Mapping[str, Declared]
    audit: Path
    today: date | None = None

    def check(self, address: str, is_open: bool) -> Ground:
        """Return why text of a class may go to an address.

        Raises:
            RefusedError: it may not; the message says what to do.
        """
        if is_open:
            return "open"
        if address == IN_PROCESS:
            return "in-process"
        declared = self.endpoints.get(address)
        if declared is None:
            why = (
                "endpoints.toml does not declare it. Declare it there with runs_locally = true if"
                " the model itself runs on your own machines, with an attestation, or, if it is a"
                f" Python file, as a [[function]]; {POLICY} says what each means, and how public"
                " text says so."
            )
        elif declared.runs_locally:
            return "local"
        elif gaps := declared.gaps(self.today or datetime.now(UTC).date()):
            why = (
                f"its attestation in endpoints.toml does not hold ({', '.join(gaps)}). {POLICY}"
                " says what it must state."
            )
        else:
            return "attestation"
        raise RefusedError(f"Credentialed text may not go to {address}: {why} Nothing was sent.")

    def authorize(self, request: Request, body: bytes, purpose: Purpose) -> None:
        """Let a request through and record it, or stop it before its first byte.

        Raises:
            RefusedError: its text may not go there.
            UserError: the audit cannot be written; then nothing goes either.
        """
        ground = self.check(request.endpoint, request.item.is_open)
        if ground == "attestation":
            self._check_parameters(request)
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "endpoint": request.endpoint,
            "model": request.model,
            "purpose": purpose,
            "data_class": OPEN if request.item.is_open else CREDENTIALED,
            "ground": ground,
            **_told(self.route(request.endpoint)),
            "request": request.key,
            "bytes": len(body),
        }
        text = (json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n").encode()
        try:
            descriptor = os.open(self.audit, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                reason = not_written(descriptor, text)
            finally:
                os.close(descriptor)
        except OSError as error:
            reason = error.strerror or type(error).__name__
        if reason:
            raise UserError(
                f"{self.audit}: the audit cannot be written: {reason}. Nothing was sent."
            )

    def check_place(self, address: str) -> None:
        """Require of an endpoint that is declared as local that its host is.

        For files that somebody else sends; where a connection is made, it is looked at instead.

        Raises:
            RefusedError: the host is elsewhere, or it is not known here.
        """
        found = addresses_of(address)
        declared = self.endpoints.get(address)
        if declared and declared.runs_locally and not (found and all(map(is_private, found))):
            raise RefusedError(f"{not_local(address)} Nothing was written.")

    def route(self, address: str) -> dict[str, str]:
        """Return the way to an endpoint: as it is declared, else as the environment says.

        Plain http goes through no proxy of the environment, which could read it.

        Returns:
            `proxy`, with its user, and `ca_file`, file or folder; what is not there is not used.
        """
        proxy = roots = None
        if (declared := self.endpoints.get(address)) is not None:
            proxy, roots = declared.proxy, declared.ca_file
        elif address.startswith("https://"):
            named = {} if proxy_bypass(urlsplit(address).netloc) else getproxies()
            proxy = named.get("https") or named.get("all")
            proxy = f"http://{proxy}" if proxy and "://" not in proxy else proxy
            roots = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
        parts = {"proxy": proxy, "ca_file": roots}
        return {name: part for name, part in parts.items() if part}

    def client(self, address: str, timeout: httpx2.Timeout | float) -> httpx2.AsyncClient:
        """Return a client for an endpoint, which takes the way that the audit names.

        It follows no redirection. Where the endpoint is declared as local, a connection that led
        elsewhere raises `RefusedError` before its first byte.

        Raises:
            UserError: the proxy or the authorities cannot be used.
        """
        import httpx2

        async def look_at_peer(event: str, told: Mapping[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                stream = told["return_value"]
                if not is_private(stream.get_extra_info("server_addr")[0]):
                    await stream.aclose()
                    raise RefusedError(f"{not_local(address)} Nothing was sent.")

        async def be_looked_at(request: httpx2.Request) -> None:
            request.extensions["trace"] = look_at_peer

        declared, route = self.endpoints.get(address), self.route(address)
        proxy, roots = route.get("proxy"), route.get("ca_file")
        try:
            # What vouches for an endpoint; variables of the environment are not looked at.
            is_plain = address.startswith("http://") and not proxy
            trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # nobody, where nobody is asked
            if not (is_plain or roots):
                trusted = httpx2.create_ssl_context(trust_env=False)
            if roots:
                is_file = not any(Path(part).is_dir() for part in roots.split(os.pathsep))
                trusted.load_verify_locations(**{"cafile" if is_file else "capath": roots})
            of_proxy = trusted if proxy and proxy.startswith("https://") else None
            return httpx2.AsyncClient(
                follow_redirects=False,
                # By a cookie an endpoint would know one request by another.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                trust_env=False,
                verify=trusted,
                proxy=httpx2.Proxy(proxy, ssl_context=of_proxy) if proxy else None,
                timeout=timeout,
                # How many requests are under way is for the runner to say.
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
                event_hooks={
                    "request": [be_looked_at] if declared and declared.runs_locally else [],
                    "response": [keep_bounded],
                },
            )
        except (OSError, ValueError, ImportError) as error:
            raise UserError(
                f"{address} cannot be reached by {' and '.join(_told(route).values())}"
                f" ({type(error).__name__}). Mend its entry in endpoints.toml, or HTTPS_PROXY and"
                " SSL_CERT_FILE. Nothing was sent."
            ) from None

    def _check_parameters(self, request: Request) -> None:
        """Refuse parameters that may have an endpoint keep text, pass it on or tell whose it is."""
        asked = request.all_parameters
        tools = asked["tools"] if isinstance(asked.get("tools"), list) else [asked.get("tools")]
        kinds = (f"tools.{tool.get('type')}" for tool in tools if isinstance(tool, Mapping))
        named = self.endpoints[request.endpoint].parameters
        if further := sorted({*asked, *kinds} - PLAIN - {*named}):
            raise RefusedError(
                f"Credentialed text may not go to {request.endpoint} with {', '.join(further)}:"
                " what an attested endpoint does with it is not known. Leave it away, or, if the"
                f" agreement covers it, name it in the entry: parameters = {json.dumps(further)}."
                f" {POLICY} says more. Nothing was sent."
            )


def _told(route: Mapping[str, str]) -> dict[str, str]:
    """Return what may be said of a route: the user and password of a proxy may not."""
    return {name: re.sub(r"://.*@", "://", part) for name, part in route.items()}


def key_from_environment(variable: str | None, environment: Mapping[str, str]) -> str:
    """Return the key for an endpoint; the word `none` if it needs none.

    Args:
        variable: the name of the environment variable that holds it.
        environment: such as `os.environ`.

    Raises:
        UserError: the variable is not set, what it holds cannot be sent, or what was given is no
            name of a variable. What was given is not repeated: it may be the key itself.
    """
    if variable is None:
        return "none"
    if not re.fullmatch(VARIABLE, variable):
        raise UserError(
            "The key of an endpoint is given by the name of an environment variable, such as"
            " OPENAI_API_KEY, never by itself."
        )
    key = environment.get(variable, "").strip()
    if not key:
        raise UserError(f"The environment variable {variable} is not set. Put the key there.")
    if not (key.isascii() and key.isprintable()):
        raise UserError(
            f"The key in the environment variable {variable} has characters that no request can"
            " carry, such as a line break. Put the key there again, and nothing else."
        )
    return key
