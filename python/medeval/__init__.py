"""medeval: clinical benchmarks built in the warehouse, exported, run and scored."""

__version__ = "0.1.0"
