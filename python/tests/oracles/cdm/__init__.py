"""The cases of the CDM benchmark, made admission by admission in plain Python."""
