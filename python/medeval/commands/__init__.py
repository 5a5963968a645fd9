"""One file a subcommand, over plain typed functions."""
