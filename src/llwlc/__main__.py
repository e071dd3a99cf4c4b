"""`python -m llwlc`: the command line, also where the package is on the path but not installed."""

from llwlc._cli import main

if __name__ == "__main__":
    main()
