"""The four tasks of mimic3-benchmarks on MIMIC-III."""
