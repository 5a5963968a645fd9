"""Entry point of ``python -m medeval``."""

from medeval.cli import main

if __name__ == "__main__":
    main()
