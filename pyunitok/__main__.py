"""Runs the command line for `python -m pyunitok`."""

from pyunitok.cli import main

if __name__ == "__main__":
    main()
