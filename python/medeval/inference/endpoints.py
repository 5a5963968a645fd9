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
import socket
import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from medeval.errors import UserError

# Hosts of companies that run models for others: whatever a file says, these are not local.
_HOSTED = (
    "ai21.com",
    "aliyuncs.com",
    "amazonaws.com",
    "anthropic.com",
    "azure.com",
    "baichuan-ai.com",
    "baidubce.com",
    "bigmodel.cn",
    "bytepluses.com",
    "cerebras.ai",
    "cloudflare.com",
    "cohere.ai",
    "cohere.com",
    "deepinfra.com",
    "deepseek.com",
    "fireworks.ai",
    "googleapis.com",
    "groq.com",
    "huggingface.co",
    "lingyiwanwu.com",
    "minimax.chat",
    "minimax.io",
    "minimaxi.com",
    "mistral.ai",
    "modelscope.cn",
    "moonshot.ai",
    "moonshot.cn",
    "novita.ai",
    "nvidia.com",
    "openai.com",
    "openrouter.ai",
    "perplexity.ai",
    "replicate.com",
    "sambanova.ai",
    "siliconflow.cn",
    "siliconflow.com",
    "stepfun.com",
    "tencent.com",
    "tencentcloudapi.com",
    "together.ai",
    "together.xyz",
    "volces.com",
    "x.ai",
    "xf-yun.com",
    "z.ai",
)
_DEFAULT_PORTS = {"http": 80, "https": 443}

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Sentence = Annotated[str, Field(min_length=1)]
# Under a name of its own, since an entry has a field called date.
Day = date


class Endpoint(BaseModel):
    """What one entry of the file says."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    base_url: str
    runs_locally: bool = False
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


class Function(BaseModel):
    """What one entry says of a Python file whose functions may get credentialed text."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    runs_locally: ClassVar[bool] = False

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


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    endpoint: list[Endpoint] = []
    function: list[Function] = []


def read_endpoints(path: Path) -> dict[str, Declared]:
    """Read the declarations by address or absolute path; a file that is not there declares nothing.

    Raises:
        UserError: the file cannot be read, or an entry in it cannot be meant.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__}).") from None
    try:
        declared = _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {field}: {first['msg']}.") from None
    endpoints: dict[str, Declared] = {}
    for function in declared.function:
        place = str((path.parent / function.path).resolve())
        endpoints[place] = function.model_copy(update={"path": place})
    for entry in declared.endpoint:
        try:
            address = normalized(entry.base_url)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None
        if address in endpoints:
            raise UserError(f"{path}: {address} stands in it twice. Keep one of the entries.")
        if entry.runs_locally and not _can_be_local(address):
            raise UserError(
                f"{path}: {address} is declared as local, but its host is on the public internet."
                " Take runs_locally out; what others run needs an attestation."
            )
        endpoints[address] = entry
    return endpoints


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
    host = (parts.hostname or "").rstrip(".")
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


def _can_be_local(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    number = _number_of(host)
    if number is not None:
        return not number.is_global
    return not any(host == name or host.endswith(f".{name}") for name in _HOSTED)


def _number_of(host: str) -> IPAddress | None:
    """Return the address that a host is in numbers, in any way that systems read; None if none."""
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        try:
            # 8.8.8.8 is 134744072, 0x8080808, 010.8.8.8 and 8.8.2056 as well.
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except (OSError, UnicodeEncodeError):
            return None
    carried = number.ipv4_mapped if isinstance(number, ipaddress.IPv6Address) else None
    return carried or number
