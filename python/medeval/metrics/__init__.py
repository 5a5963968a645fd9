"""Metrics of text answers, one module per family; functions of reference, source and output.

`registry.default_registry` names them all; a `ScoreTable` turns item scores into one value with an
interval. Importing this package loads nothing heavy: ROUGE and numpy come in where used.
"""
