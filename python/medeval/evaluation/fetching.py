"""Small files from the web, fetched so that a URL cannot reach what only this machine can.

Each address is resolved once, checked, and connected to as it was checked, redirects included.
Proxies of the environment are not used: behind one, the address could not be checked.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from medeval.inference.guard import NETWORKS, is_loopback

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True)
class FetchRules:
    """What may be fetched.

    Attributes:
        allow_http: also without TLS.
        allow_private_hosts: also from private, loopback and other addresses that are not public,
            and without TLS from this machine.
        timeout: seconds for each wait: to connect, and for the next bytes.
        max_bytes: the largest file.
        max_redirects: the longest chain of redirects.
    """

    allow_http: bool = False
    allow_private_hosts: bool = False
    timeout: float = 30.0
    max_bytes: int = 5 * 1024 * 1024
    max_redirects: int = 5


def is_url(ref: str) -> bool:
    """Tell a web address from a path."""
    return ref.lower().startswith(("http://", "https://"))


def fetch(url: str, rules: FetchRules) -> tuple[bytes, str]:
    """Get a file and the type that the server gives it.

    Raises:
        ValueError: the address is not allowed, the file is too large, there are too many
            redirects, the server answers with an error, or it cannot be reached; naming the
            address.
    """
    place = url
    for _ in range(rules.max_redirects + 1):
        parts = _checked(place, rules)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        # The host as the address names it: the port of TLS is not the connection's default.
        headers = {"Host": parts.netloc, "Accept-Encoding": "identity"}
        try:
            with closing(http.client.HTTPConnection(parts.hostname or "", 80)) as connection:
                connection.sock = _connected(parts, place, rules)
                if parts.scheme == "https":
                    context = ssl.create_default_context()
                    tls = context.wrap_socket(connection.sock, server_hostname=parts.hostname)
                    connection.sock = tls
                connection.request("GET", target, headers=headers)
                with connection.getresponse() as response:
                    location = response.getheader("Location")
                    if response.status not in _REDIRECTS or not location:
                        return _read(response, place, rules)
                    place = urljoin(place, location)
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise ValueError(f"{place}: cannot be fetched: {reason}") from error
    raise ValueError(f"{url}: more than {rules.max_redirects} redirects")


def _read(response: http.client.HTTPResponse, url: str, rules: FetchRules) -> tuple[bytes, str]:
    if response.status != http.client.OK:
        raise ValueError(f"{url}: HTTP status {response.status} {response.reason}".rstrip())
    content = response.read(rules.max_bytes + 1)
    if len(content) > rules.max_bytes:
        raise ValueError(f"{url}: larger than {rules.max_bytes} bytes")
    if response.length:  # what the server announced and did not send
        raise http.client.IncompleteRead(content, response.length)
    return content, response.getheader("Content-Type") or ""


def _checked(url: str, rules: FetchRules) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"{url}: not a web address: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url}: not a web address")
    may_be_plain = rules.allow_http or (rules.allow_private_hosts and is_loopback(url))
    if parts.scheme == "http" and not may_be_plain:
        raise ValueError(f"{url}: only https is allowed")
    if parts.username is not None:
        raise ValueError("a web address with a user name or password is not allowed")
    if not url.isascii() or any(character <= " " for character in url):
        raise ValueError(f"{url}: write spaces and letters beyond ASCII percent-encoded")
    return parts


def _connected(parts: SplitResult, url: str, rules: FetchRules) -> socket.socket:
    """Return a connection to an address of the host, all of which may be connected to."""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    for address in addresses:
        number = ipaddress.ip_address(address.partition("%")[0])
        is_public = number.is_global and not number.is_multicast
        is_public &= not any(number in network for network in NETWORKS["carriers"])
        if not (rules.allow_private_hosts or is_public):
            raise ValueError(f"{url}: the host has the address {address}, which is not public")
    failed = OSError("the host has no address")
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout=rules.timeout)
        except OSError as error:
            failed = error
    raise failed
