"""One file a subcommand, over plain functions that take their flags as keywords.

The flags of a command are described in COMMAND_flags.toml; `medeval.cli` gives them to it.
"""
