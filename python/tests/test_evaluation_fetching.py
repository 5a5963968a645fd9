"""Addresses of the web that lead to what only this machine can reach."""

from __future__ import annotations

import socket

import pytest

from medeval.evaluation.fetching import FetchRules, _is_public, fetch

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


@pytest.mark.parametrize("address", CARRIERS)
def test_an_address_that_carries_another_is_refused(address: str) -> None:
    try:
        socket.getaddrinfo(address, 80, flags=socket.AI_NUMERICHOST)
    except OSError:
        pytest.skip("no IPv6 here")
    with pytest.raises(ValueError, match="which is not public"):
        fetch(f"http://[{address}]:9/task.yaml", FetchRules(allow_http=True, timeout=5))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111", "2001:4860:4860::8888"])
def test_a_public_address_is_none_of_them(address: str) -> None:
    assert _is_public(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1"])
def test_an_address_of_this_house_is_not_public(address: str) -> None:
    assert not _is_public(address)
