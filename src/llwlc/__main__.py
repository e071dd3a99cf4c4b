"""`python -m llwlc`: the command line, also where the package is on the path but not installed."""

from llwlc.cli import main

if __name__ == "__main__":
    main()
