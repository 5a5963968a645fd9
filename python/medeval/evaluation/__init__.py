"""Tasks found, loaded and checked; models run on them; the answers scored."""
