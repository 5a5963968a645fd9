"""The command `view`."""

from __future__ import annotations

from typing import Any

from medeval.commands.graceful_exit import graceful_exit
from medeval.commands.options import command_flags
from medeval.errors import OSErrorAs, UserError


@command_flags("view")
def view(**given: Any) -> None:
    """Show the runs of a folder in a browser on this machine.

    No other machine is answered, and nothing is written. End it with Ctrl-C.
    """
    from medeval.commands.page_server import Viewer  # no other command waits for the server

    folder = given["folder"]
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}. Name the folder of runs.")
    with OSErrorAs(f"Port {given['port']} cannot be used: {{why}}."):
        server = Viewer(folder, given["port"], show_text=given["show_text"])
    with server, graceful_exit(lambda: "stopped"):
        print(server.address, flush=True)
        server.serve_forever()
