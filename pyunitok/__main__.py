"""`python -m pyunitok`: the command line."""

from pyunitok.cli import main

if __name__ == "__main__":
    main()
