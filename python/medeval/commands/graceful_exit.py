"""Ended by the user or the system, a command says what is kept and how to go on."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from types import FrameType

import typer

# What shells report of a process that a signal has ended.
_BY_SIGNAL = 128
_KEY = "--judge-api-key"


@contextmanager
def graceful_exit(status: Callable[[], str]) -> Iterator[None]:
    """End with one line, and no traceback, when Ctrl-C or a request to end comes in the block.

    A request to end (SIGTERM, as batch systems and containers send it) takes the same way as
    Ctrl-C, so that files are closed and what was answered is kept.

    Args:
        status: says how far it is and with which command it goes on; called after everything
            that was open in the block has been closed.

    Raises:
        typer.Exit: with 130 after Ctrl-C, with 143 after a request to end.
    """
    ended_by = signal.SIGINT

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended_by
        ended_by = signal.SIGTERM
        # An event loop has a handler of its own for Ctrl-C, which closes what is open.
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    before = signal.getsignal(signal.SIGTERM)
    is_ours = before is signal.SIG_DFL
    # A shell starts what runs in its background without Ctrl-C. It stays without, by the mask, but
    # an event loop makes its handler only where Python's own stands.
    is_in_background = is_ours and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if is_in_background:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if is_ours:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        # Said once and whole, also when the key is pressed again.
        interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            print(f"medeval: ended; {status()}", file=sys.stderr)
        finally:
            signal.signal(signal.SIGINT, interrupt)
        # Where Ctrl-C came within a text that was run (an import makes classes so), Python would
        # end by the signal, whatever the exit code, until another text has run.
        exec("")  # noqa: S102
        raise typer.Exit(_BY_SIGNAL + ended_by) from None
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, before)
        if is_in_background:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def command_of(*words: object, named: Mapping[str, str] | None = None) -> str:
    """Return a command line of this program; `named` are further flags with their values."""
    return with_flags(shlex.join(["python", "-m", "medeval", *map(str, words)]), named or {})


def with_flags(command: str, named: Mapping[str, str]) -> str:
    """Return a command line with further flags and their values."""
    return " ".join([command, *map(shlex.quote, chain.from_iterable(named.items()))])


def same_command() -> str:
    """Return the command that was given, without a key."""
    words = []
    given = iter(sys.argv[1:])
    for word in given:
        if word == _KEY:
            next(given, None)
        elif not word.startswith(f"{_KEY}="):
            words.append(word)
    return command_of(*words)
