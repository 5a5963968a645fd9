"""Every benchmark once, then one table of what all of them found.

python -m benchmarks              # all but what takes long; the page too
python -m benchmarks --render     # the table and the page of the kept figures
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.measuring import CommandFailedError
from benchmarks.performance import BENCHMARKS, ratios, write_page


def main() -> None:
    """Measure, keep, print the table and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--render", action="store_true", help="nothing is measured")
    if not parser.parse_args().render:
        try:
            for benchmark in BENCHMARKS:
                if not benchmark.takes_long:
                    benchmark.measure(benchmark.usual)
        except CommandFailedError as error:
            sys.exit(str(error))
    print(ratios())
    write_page()


if __name__ == "__main__":
    main()
