"""Addresses of the web that lead to what only this machine can reach."""

from __future__ import annotations

import socket

import pytest

from medeval.evaluation.fetching import FetchRules, fetch

# Each carries an address of IPv4 that a gateway or tunnel would go to.
CARRIERS = [
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2002:0a00:0001::1",
    "2001:0:7f00:1::1",
    "::7f00:1",
    "::ffff:7f00:1",
]


OF_THIS_HOUSE = [
    "127.0.0.1",
    "localhost",
    "10.1.2.3",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "::1",
    "fe80::1",
    "fc00::1",
    "::ffff:10.0.0.1",
    "2130706433",
]


@pytest.mark.parametrize("address", [*CARRIERS, *OF_THIS_HOUSE])
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    try:
        socket.getaddrinfo(address, 80)
    except OSError:
        pytest.skip("no IPv6 here")
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(ValueError, match="which is not public"):
        fetch(f"https://{host}:9/task.yaml", FetchRules(timeout=5))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111"])
def test_a_public_address_is_connected_to_as_it_was_checked(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[str] = []

    def connect(place: tuple[str, int], timeout: float) -> socket.socket:
        met.append(place[0])
        raise OSError("not from here")

    monkeypatch.setattr(socket, "create_connection", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (address, 443))])
    with pytest.raises(ValueError, match="cannot be fetched: not from here"):
        fetch("https://tasks.example/t.yaml", FetchRules(timeout=5))
    assert met == [address]
