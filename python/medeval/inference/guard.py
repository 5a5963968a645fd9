"""The guard that every request passes before its first byte, and the declarations that it reads.

An item that is open may go anywhere. A credentialed one goes to an endpoint that is declared as
local, or whose operator's promises somebody has attested; this machine's own address is no
exception, since a proxy to elsewhere may listen there. A user's function, whose code may send it
elsewhere, is declared by its file; what is built in needs no entry. Declarations stand in
`endpoints.toml`, in the form that docs/running.md shows. Whatever is admitted leaves a line in the
audit: hashes and reasons, never text.

The guard opens the connections too, since the way to an endpoint decides who can read: what the
environment says of proxies and authorities counts only for an endpoint that is not declared, which
gets open text alone.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import socket
import ssl
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import idna
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from medeval.errors import UserError, faults_of, os_error_as
from medeval.files import not_written, sha256, toml_beside
from medeval.inference.openai_replies import keep_bounded
from medeval.inference.types import CREDENTIALED, OPEN, Request

if TYPE_CHECKING:
    import httpx2

POLICY = "docs/data_use.md"
IN_PROCESS = "in-process"
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Parameters that an answer may need, and networks by what is known of them.
_KNOWN = toml_beside(__file__, "guard.toml")
NETWORKS = {name: [*map(ipaddress.ip_network, its)] for name, its in _KNOWN["networks"].items()}

Purpose = Literal["answer", "judgment", "count"]
Ground = Literal["open", "local", "attestation", "in-process"]
Form = TypeVar("Form", bound=BaseModel)
# Under a name of its own, since an entry has a field called date.
Day = date


def normalized(base_url: str) -> str:
    """Return an address in the one form in which addresses are compared, recorded and called.

    Letters of a host that stand for others, and dots, are read as those (UTS 46).

    Raises:
        UserError: it is no http address, or it holds a user, a query or a fragment: that is where
            keys get into files.
    """
    try:
        parts = urlsplit(base_url.strip())
        host, port = parts.hostname or "", parts.port
        host = host if host.isascii() else idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        host = ""
    except ValueError:
        raise UserError("The address of the endpoint is no URL.") from None
    host = host.rstrip(".")
    is_host = re.fullmatch(r"[a-z0-9._-]+|[0-9a-f:.]*:[0-9a-f:.]*(%\w+)?", host)
    if parts.scheme not in _DEFAULT_PORTS or not is_host:
        raise UserError("The address of an endpoint begins with http:// or https:// and a host.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UserError(
            f"The address of the endpoint at {host} has a user, a query or a fragment. Leave only"
            " the address; the key comes from the environment."
        )
    host = f"[{host}]" if ":" in host else host
    stated = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{stated}{parts.path.rstrip('/')}"


def is_loopback(base_url: str) -> bool:
    """Tell whether an address names this machine itself."""
    host = urlsplit(base_url).hostname or ""
    try:
        return f".{host}".endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_private(address: str) -> bool:
    """Tell whether an address in numbers is of this machine or of a private network."""
    number = ipaddress.ip_address(address)
    number = getattr(number, "ipv4_mapped", None) or number
    return any(number in network for network in NETWORKS["private"])


def _addresses_of(base_url: str, *, numeric: bool = False) -> set[str]:
    """Return the addresses in numbers of a host; none if it has none.

    Args:
        base_url: of the endpoint.
        numeric: only of a host that is a number itself; then nobody is asked.
    """
    flags = socket.AI_NUMERICHOST if numeric else 0
    try:
        # 8.8.8.8 is 134744072, 0x8080808, 010.8.8.8 and 8.8.2056 as well.
        found = socket.getaddrinfo(urlsplit(base_url).hostname, None, flags=flags)
    except (OSError, UnicodeError):
        return set()
    return {str(each[4][0]) for each in found}


def _not_local(base_url: str) -> str:
    place = "its host is not on this machine nor in a private network"
    return f"{base_url} is declared as local, but {place}: it needs an attestation instead."


Sentence = Annotated[str, Field(min_length=1)]
Address = Annotated[str, AfterValidator(normalized)]


class Endpoint(BaseModel, extra="forbid", strict=True, frozen=True):
    """What one entry of the file says.

    Attributes:
        base_url: the address that it is about.
        runs_locally: the model runs on this machine or in this network.
        proxy: through which it is reached; None for directly, whatever the environment says.
        ca_file: authorities that vouch for it; None for those of the system.
        parameters: names of parameters that credentialed text may go with, beside the usual ones.
    """

    base_url: Address
    runs_locally: bool = False
    proxy: Address | None = None
    ca_file: Sentence | None = None
    parameters: tuple[str, ...] = Field((), strict=False)
    zero_retention: bool = False
    no_training: bool = False
    no_human_review: bool = False
    evidence: Sentence | None = None
    who: Sentence | None = None
    date: Day | None = None
    expiry: Day | None = None

    def gaps(self, today: Day) -> list[str]:
        """Return what the attestation lacks on a day; empty if it holds."""
        promises = ("zero_retention", "no_training", "no_human_review")
        gaps = [f"{name} is not true" for name in promises if not getattr(self, name)]
        stated = ("evidence", "who", "date", "expiry")
        gaps += [f"{name} is missing" for name in stated if getattr(self, name) is None]
        if self.date is not None and self.date > today:
            gaps.append(f"its date {self.date} lies ahead")
        if self.expiry is not None and self.expiry < today:
            gaps.append(f"it expired on {self.expiry}")
        if not (self.base_url.startswith("https:") or is_loopback(self.base_url)):
            gaps.append("its address is not https")
        return gaps


class Function(BaseModel, extra="forbid", strict=True, frozen=True):
    """What one entry says of a Python file whose functions may get credentialed text."""

    # What only an endpoint can have.
    runs_locally: ClassVar[bool] = False
    proxy: ClassVar[None] = None
    ca_file: ClassVar[None] = None
    parameters: ClassVar[tuple[str, ...]] = ()

    path: Sentence
    sha256: Sentence
    sends_nothing: Literal[True]
    who: Sentence
    date: Day

    def gaps(self, today: Day) -> list[str]:
        """Return why the entry does not hold on a day; empty if it does."""
        gaps = [f"its date {self.date} lies ahead"] if self.date > today else []
        try:
            is_same = sha256(Path(self.path)) == self.sha256
        except OSError as error:
            return [*gaps, f"the file cannot be read: {error.strerror}"]
        return gaps if is_same else [*gaps, "its sha256 is not that of the file"]


class _File(BaseModel, extra="forbid", strict=True):
    endpoint: list[Endpoint] = []
    function: list[Function] = []


def read_form(
    path: Path, form: type[Form], fault: str, load: Callable[..., Any] = tomllib.loads
) -> Form:
    """Return what a file says in its form.

    Args:
        path: the file.
        form: that it must have.
        fault: what is said of a text that is not loaded.
        load: of its text, TOML or JSON.

    Raises:
        OSError: it cannot be read.
        UserError: naming the file and the field that is wrong.
    """
    try:
        return form.model_validate(load(path.read_text(encoding="utf-8"), parse_float=Decimal))
    except ValidationError as error:
        raise UserError(f"{path}: {faults_of(error)}.") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except ValueError as error:
        raise UserError(f"{path} {fault}: {error}.") from None


def read_endpoints(path: Path) -> dict[str, Endpoint | Function]:
    """Read the declarations by address or absolute path; a file that is not there declares nothing.

    Raises:
        UserError: the file cannot be read, or an entry in it cannot be meant.
    """
    try:
        declared = read_form(path, _File, "is not TOML")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__}).") from None
    endpoints: dict[str, Endpoint | Function] = {}
    for function in declared.function:
        place = str((path.parent / function.path).resolve())
        endpoints[place] = function.model_copy(update={"path": place})
    for entry in declared.endpoint:
        address = entry.base_url
        if address in endpoints:
            raise UserError(f"{path}: {address} stands in it twice. Keep one of the entries.")
        if entry.runs_locally and entry.proxy:
            raise UserError(f"{path}: {address} is local and with a proxy. Take one of them out.")
        if entry.runs_locally and not all(map(_is_private, _addresses_of(address, numeric=True))):
            raise UserError(f"{path}: {_not_local(address)}")
        ca_file = entry.ca_file and str(path.parent / entry.ca_file)
        endpoints[address] = entry.model_copy(update={"ca_file": ca_file})
    return endpoints


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

    endpoints: Mapping[str, Endpoint | Function]
    audit: Path
    today: date | None = None

    def check(self, address: str, is_open: bool) -> Ground:
        """Return why text of a class may go to an address.

        Raises:
            RefusedError: it may not; the message says what to do.
        """
        if is_open or address == IN_PROCESS:
            return "open" if is_open else "in-process"
        if (declared := self.endpoints.get(address)) is None:
            why = (
                "endpoints.toml does not declare it. Declare it there with runs_locally = true if"
                " the model itself runs on your own machines, with an attestation, or a Python file"
                " as a [[function]]"
            )
        elif declared.runs_locally:
            return "local"
        elif gaps := declared.gaps(self.today or datetime.now(UTC).date()):
            why = f"its attestation in endpoints.toml does not hold ({', '.join(gaps)})"
        else:
            return "attestation"
        raise RefusedError(
            f"Credentialed text may not go to {address}: {why}. {POLICY} says more. Nothing was"
            " sent."
        )

    def authorize(self, request: Request, body: bytes, purpose: Purpose) -> None:
        """Let a request through and record it, or stop it before its first byte.

        Raises:
            RefusedError: its text may not go there.
            UserError: the audit cannot be written; then nothing goes either.
        """
        ground = self.check(request.endpoint, request.item.is_open)
        if ground == "attestation":
            # What may have an endpoint keep text, pass it on or tell whose it is.
            asked = request.all_parameters
            tools = asked["tools"] if isinstance(asked.get("tools"), list) else [asked.get("tools")]
            kinds = (f"tools.{tool.get('type')}" for tool in tools if isinstance(tool, Mapping))
            named = self.endpoints[request.endpoint].parameters
            if further := sorted({*asked, *kinds} - {*_KNOWN["plain_parameters"]} - {*named}):
                raise RefusedError(
                    f"Credentialed text may not go to {request.endpoint} with"
                    f" {', '.join(further)}: leave it away, or, if the agreement covers it, name it"
                    f" in the entry: parameters = {json.dumps(further)}. {POLICY} says more."
                    " Nothing was sent."
                )
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
        with os_error_as(f"{self.audit}: the audit cannot be written: {{why}}. Nothing was sent."):
            descriptor = os.open(self.audit, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "wb", 0):
                if reason := not_written(descriptor, text):
                    raise OSError(reason)

    def check_place(self, address: str) -> None:
        """Require of an endpoint that is declared as local that its host is.

        For files that somebody else sends; where a connection is made, it is looked at instead.

        Raises:
            RefusedError: the host is elsewhere, or it is not known here.
        """
        declared = self.endpoints.get(address)
        if not (declared and declared.runs_locally):
            return
        found = _addresses_of(address)
        if not (found and all(map(_is_private, found))):
            raise RefusedError(f"{_not_local(address)} Nothing was written.")

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
        return {name: part for name, part in (("proxy", proxy), ("ca_file", roots)) if part}

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
                if not _is_private(stream.get_extra_info("server_addr")[0]):
                    await stream.aclose()
                    raise RefusedError(f"{_not_local(address)} Nothing was sent.")

        async def be_looked_at(request: httpx2.Request) -> None:
            request.extensions["trace"] = look_at_peer

        declared, route = self.endpoints.get(address), self.route(address)
        proxy, roots = route.get("proxy"), route.get("ca_file")
        is_local = declared is not None and declared.runs_locally
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
                event_hooks={"request": [be_looked_at] * is_local, "response": [keep_bounded]},
            )
        except (OSError, ValueError, ImportError) as error:
            by = " and ".join(_told(route).values())
            raise UserError(
                f"{address} cannot be reached by {by} ({type(error).__name__}). Mend its entry in"
                " endpoints.toml, or HTTPS_PROXY and SSL_CERT_FILE. Nothing was sent."
            ) from None


def _told(route: Mapping[str, str]) -> dict[str, str]:
    """Return what may be said of a route: the user and password of a proxy may not."""
    return {name: re.sub(r"://.*@", "://", part) for name, part in route.items()}
