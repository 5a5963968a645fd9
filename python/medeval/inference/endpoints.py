"""`endpoints.toml`: which endpoints may see credentialed text, declared by a named person.

```toml
[[endpoint]]
base_url = "http://127.0.0.1:8000/v1"
runs_locally = true            # the model itself runs here; a proxy to elsewhere does not count

[[endpoint]]
base_url = "https://models.example.org/v1"
zero_retention = true
no_training = true
no_human_review = true
evidence = "agreement 2026-17, section 4"
who = "who stands for it"
date = 2026-01-15
expiry = 2027-01-15
proxy = "http://proxy.example.org:3128"      # only if it is reached through one
ca_file = "authority.pem"                    # only if the system does not know who vouches for it
parameters = ["top_k"]                       # beside those that every answer may need

[[function]]
path = "model.py"              # a Python file, seen from the folder of endpoints.toml
sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
sends_nothing = true           # its functions keep what they get within this process
who = "who stands for it"
date = 2026-01-15
```
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import socket
import tomllib
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar
from urllib.parse import urlsplit

import idna
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from medeval.errors import UserError, first_fault

_DEFAULT_PORTS = {"http": 80, "https": 443}
# Loopback, RFC 1918, RFC 4193. What carries an address of others (Teredo, 6to4, NAT64) is in none.
_RANGES = "127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1/128 fc00::/7"
_PRIVATE = [ipaddress.ip_network(each) for each in _RANGES.split()]


def normalized(base_url: str) -> str:
    """Return an address in the one form in which addresses are compared, recorded and called.

    Raises:
        UserError: it is no http address, or it holds a user, a query or a fragment: that is where
            keys get into files.
    """
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError:
        raise UserError("The address of the endpoint is no URL.") from None
    host = _plain(parts.hostname or "")
    if parts.scheme not in _DEFAULT_PORTS or not host:
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
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_private(address: str) -> bool:
    """Tell whether an address in numbers is of this machine or of a private network."""
    number = ipaddress.ip_address(address)
    number = getattr(number, "ipv4_mapped", None) or number
    return any(number in network for network in _PRIVATE)


def addresses_of(base_url: str, *, numeric: bool = False) -> set[str]:
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


def not_local(base_url: str) -> str:
    """Say why an endpoint is not local."""
    return (
        f"{base_url} is declared as local, but its host is not on this machine nor in a private"
        " network. Take runs_locally out; what others run needs an attestation."
    )


def _plain(host: str) -> str:
    """Return a host as it is asked for in the DNS; empty if it cannot be.

    Letters that stand for others, and dots, are read as those (UTS 46).
    """
    try:
        plain = host if host.isascii() else idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        return ""
    plain = plain.rstrip(".")
    return plain if re.fullmatch(r"[a-z0-9._-]+|[0-9a-f:.]*:[0-9a-f:.]*(%\w+)?", plain) else ""


Sentence = Annotated[str, Field(min_length=1)]
Address = Annotated[str, AfterValidator(normalized)]
# Under a name of its own, since an entry has a field called date.
Day = date


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
        if urlsplit(self.base_url).scheme != "https" and not is_loopback(self.base_url):
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
            found = hashlib.sha256(Path(self.path).read_bytes()).hexdigest()
        except OSError as error:
            return [*gaps, f"the file cannot be read: {error.strerror}"]
        return gaps if found == self.sha256 else [*gaps, "its sha256 is not that of the file"]


Declared = Endpoint | Function
Form = TypeVar("Form", bound=BaseModel)


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
        raise UserError(f"{path}: {first_fault(error)}.") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except ValueError as error:
        raise UserError(f"{path} {fault}: {error}.") from None


def read_endpoints(path: Path) -> dict[str, Declared]:
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
    endpoints: dict[str, Declared] = {}
    for function in declared.function:
        place = str((path.parent / function.path).resolve())
        endpoints[place] = function.model_copy(update={"path": place})
    for entry in declared.endpoint:
        address = entry.base_url
        if address in endpoints:
            raise UserError(f"{path}: {address} stands in it twice. Keep one of the entries.")
        if entry.runs_locally and entry.proxy:
            raise UserError(f"{path}: {address} is local and with a proxy. Take one of them out.")
        if entry.runs_locally and not all(map(is_private, addresses_of(address, numeric=True))):
            raise UserError(f"{path}: {not_local(address)}")
        ca_file = entry.ca_file and str(path.parent / entry.ca_file)
        endpoints[address] = entry.model_copy(update={"ca_file": ca_file})
    return endpoints
