"""Entry point of ``python -m medeval`` and of the command ``medeval``."""

import atexit
import gc

# What is imported stays: looking through it for cycles again and again, and once more at the end,
# takes a sixth of the time of a short run.
gc.set_threshold(100_000, 50, 100)
atexit.register(gc.freeze)

from medeval.cli import main  # noqa: E402  what is imported here counts too

if __name__ == "__main__":
    main()
