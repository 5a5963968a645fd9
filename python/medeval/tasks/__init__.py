"""Benchmarks that are put to models: what each asks, how it reads replies, how it is scored."""
